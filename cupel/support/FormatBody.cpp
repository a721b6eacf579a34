// The body of fmt, compiled once and linked in: Debian ships it as a shared library, which cupel-device
// and the plugin must not need, and its header-only form costs seconds in every file that formats.
#include <fmt/format-inl.h>

// What fmt's headers declare as extern templates or define in format-inl.h alone.
FMT_BEGIN_NAMESPACE
namespace detail {
template locale_ref::locale_ref(const std::locale &);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
} // namespace detail
FMT_END_NAMESPACE
