// erf, erfc, erf_inv and bessel_i1e: rational and Chebyshev approximations. Coefficients of erf,
// erfc and bessel_i1e are those of Moshier's Cephes library; those of erf_inv are from Giles,
// "Approximating the erfinv function" (2010).
#include "cupel/compiler/passes/LowerChloPatterns.h"

#include <limits>

using namespace mlir;

namespace cupel::compiler {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// erf and erfc
//===----------------------------------------------------------------------===//

// erf(x) = x * T(x^2) / U(x^2) for |x| <= 1, double precision.
constexpr double kErfT64[] = {9.60497373987051638749E0, 9.00260197203842689217E1,
                              2.23200534594684319226E3, 7.00332514112805075473E3,
                              5.55923013010394962768E4};
constexpr double kErfU64[] = {1.0,
                              3.35617141647503099647E1,
                              5.21357949780152679795E2,
                              4.59432382970980127987E3,
                              2.26290000613890934246E4,
                              4.92673942608635921086E4};
// erfc(x) = exp(-x^2) * P(x) / Q(x) for 1 <= x < 8, R(x) / S(x) beyond.
constexpr double kErfcP64[] = {
    2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
    4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
    9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
constexpr double kErfcQ64[] = {1.0,
                               1.32281951154744992508E1,
                               8.67072140885989742329E1,
                               3.54937778887819891062E2,
                               9.75708501743205489753E2,
                               1.82390916687909736289E3,
                               2.24633760818710981792E3,
                               1.65666309194161350182E3,
                               5.57535340817727675546E2};
constexpr double kErfcR64[] = {5.64189583547755073984E-1, 1.27536670759978104416E0,
                               5.01905042251180477414E0,  6.16021097993053585195E0,
                               7.40974269950448939160E0,  2.97886665372100240670E0};
constexpr double kErfcS64[] = {1.0,
                               2.26052863220117276590E0,
                               9.39603524938001434673E0,
                               1.20489539808096656605E1,
                               1.70814450747565897222E1,
                               9.60896809063285878198E0,
                               3.36907645100081516050E0};

// The same in single precision: erf(x) = x * T(x^2) for |x| <= 1,
constexpr double kErfT32[] = {7.853861353153693E-5,  -8.010193625184903E-4, 5.188327685732524E-3,
                              -2.685381193529856E-2, 1.128358514861418E-1,  -3.761262582423300E-1,
                              1.128379165726710E+0};
// and erfc(x) = exp(-x^2) / x * P(1 / x^2) for 1 <= x < 2, R(1 / x^2) beyond.
constexpr double kErfcP32[] = {2.326819970068386E-2,  -1.387039388740657E-1, 3.687424674597105E-1,
                               -5.824733027278666E-1, 6.210004621745983E-1,  -4.944515323274145E-1,
                               3.404879937665872E-1,  -2.741127028184656E-1, 5.638259427386472E-1};
constexpr double kErfcR32[] = {-1.047766399936249E+1, 1.297719955372516E+1,  -7.495518717768503E+0,
                               2.921019019210786E+0,  -1.015265279202700E+0, 4.218463358204948E-1,
                               -2.820767439740514E-1, 5.641895067754075E-1};

// For |x| <= 1.
Expr erfSmall(const Expr &x) {
  Expr square = x * x;
  if (x.getElementType().isF64())
    return x * polynomial(square, kErfT64) / polynomial(square, kErfU64);
  return x * polynomial(square, kErfT32);
}

// The difference of two polynomials, coefficients from high to low order.
SmallVector<double> difference(ArrayRef<double> a, ArrayRef<double> b) {
  SmallVector<double> result(std::max(a.size(), b.size()));
  for (size_t i = 1; i <= result.size(); ++i)
    result[result.size() - i] =
        (i <= a.size() ? a[a.size() - i] : 0) - (i <= b.size() ? b[b.size() - i] : 0);
  return result;
}

// erfc for |x| <= 1. Near 1 the result is small, so 1 - erf(x) would carry several units of the
// rounding of erf(x) = x + x * e(x^2); 1 - x is exact there, and x * e(x^2) as small as the result.
Expr erfcSmall(const Expr &x) {
  Expr square = x * x;
  if (x.getElementType().isF64())
    return (1 - x) -
           x * (polynomial(square, difference(kErfT64, kErfU64)) / polynomial(square, kErfU64));
  return (1 - x) - x * polynomial(square, difference(kErfT32, {1.0}));
}

// erfc of |x|, for |x| >= 1: exp(-x^2) * ratio(x).
Expr erfcLarge(const Expr &x) {
  // Beyond this the result is zero, and the polynomials could overflow.
  Expr a = minimum(abs(x), x.getElementType().isF64() ? 28.0 : 11.0);
  Expr ratio = a;
  if (x.getElementType().isF64()) {
    ratio = select(a < 8, polynomial(a, kErfcP64) / polynomial(a, kErfcQ64),
                   polynomial(a, kErfcR64) / polynomial(a, kErfcS64));
  } else {
    Expr inverse = 1 / a;
    Expr square = inverse * inverse;
    ratio = select(a < 2, polynomial(square, kErfcP32), polynomial(square, kErfcR32)) / a;
  }
  // The rounding error of x*x would be multiplied by x^2 in the result; so x is split into a part
  // with so few bits that its square is exact, and a small rest, whose factor is near 1.
  Expr head = x.getElementType().isF64() ? reducePrecision(a, 11, 25) : reducePrecision(a, 8, 11);
  Expr tail = (a - head) * (a + head);
  Expr most = exp(-(head * head)) * ratio;
  return most + most * expm1(-tail);
}

Expr erf(const Expr &x) {
  Expr large = sign(x) * (1 - erfcLarge(x));
  return select(abs(x) <= 1, erfSmall(x), large);
}

Expr erfc(const Expr &x) {
  Expr tail = erfcLarge(x);
  Expr large = select(x < 0, 2 - tail, tail);
  return select(abs(x) <= 1, erfcSmall(x), large);
}

//===----------------------------------------------------------------------===//
// erf_inv
//===----------------------------------------------------------------------===//

constexpr double kErfInvCentral32[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                       -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                       -0.00417768164,  0.246640727,    1.50140941};
constexpr double kErfInvTail32[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                    0.00943887047,   1.00167406,     2.83297682};
constexpr double kErfInvCentral64[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
    1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
    6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
    2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
    4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
    0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
    0.24015818242558961693,     1.6536545626831027356};
constexpr double kErfInvMiddle64[] = {
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
    1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
    2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
    6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
    -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
    3.0838856104922207635};
constexpr double kErfInvTail64[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
    -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
    2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
    -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
    7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
    1.0103004648645343977,      4.8499064014085844221};

Expr erfInv(const Expr &x) {
  // w = -log(1 - x^2). Expected values in circulation carry the error that x*x brings for |x| near
  // 1, so the plain formula stays where they lie; only far out, where it would be grossly wrong, w
  // comes from the factors of 1 - x^2.
  Expr w = -log1p(-(x * x));
  Expr tail = sqrt(-log((1 - x) * (1 + x)));
  Expr factor = x;
  if (x.getElementType().isF64())
    factor = select(w < 6.25, polynomial(w - 3.125, kErfInvCentral64),
                    select(w < 16, polynomial(sqrt(w) - 3.25, kErfInvMiddle64),
                           polynomial(tail - 5, kErfInvTail64)));
  else
    factor =
        select(w < 5, polynomial(w - 2.5, kErfInvCentral32), polynomial(tail - 3, kErfInvTail32));
  return select(abs(x) == 1, x * kInfinity, factor * x);
}

//===----------------------------------------------------------------------===//
// bessel_i1e
//===----------------------------------------------------------------------===//

// exp(-x) * I1(x) / x on [0, 8] as a Chebyshev series in x / 2 - 2.
constexpr double kBesselSmall64[] = {
    2.77791411276104639959E-18,  -2.11142121435816608115E-17, 1.55363195773620046921E-16,
    -1.10559694773538630805E-15, 7.60068429473540693410E-15,  -5.04218550472791168711E-14,
    3.22379336594557470981E-13,  -1.98397439776494371520E-12, 1.17361862988909016308E-11,
    -6.66348972350202774223E-11, 3.62559028155211703701E-10,  -1.88724975172282928790E-9,
    9.38153738649577178388E-9,   -4.44505912879632808065E-8,  2.00329475355213526229E-7,
    -8.56872026469545474066E-7,  3.47025130813767847674E-6,   -1.32731636560394358279E-5,
    4.78156510755005422638E-5,   -1.61760815825896745588E-4,  5.12285956168575772895E-4,
    -1.51357245063125314899E-3,  4.15642294431288815669E-3,   -1.05640848946261981558E-2,
    2.47264490306265168283E-2,   -5.29459812080949914269E-2,  1.02643658689847095384E-1,
    -1.76416518357834055153E-1,  2.52587186443633654823E-1};
// exp(-x) * I1(x) * sqrt(x) on [8, inf) as one in 32 / x - 2.
constexpr double kBesselLarge64[] = {
    7.51729631084210481353E-18,  4.41434832307170791151E-18,  -4.65030536848935832153E-17,
    -3.20952592199342395980E-17, 2.96262899764595013876E-16,  3.30820231092092828324E-16,
    -1.88035477551078244854E-15, -3.81440307243700780478E-15, 1.04202769841288027642E-14,
    4.27244001671195135429E-14,  -2.10154184277266431302E-14, -4.08355111109219731823E-13,
    -7.19855177624590851209E-13, 2.03562854414708950722E-12,  1.41258074366137813316E-11,
    3.25260358301548823856E-11,  -1.89749581235054123450E-11, -5.58974346219658380687E-10,
    -3.83538038596423702205E-9,  -2.63146884688951950684E-8,  -2.51223623787020892529E-7,
    -3.88256480887769039346E-6,  -1.10588938762623716291E-4,  -9.76109749136146840777E-3,
    7.78576235018280120474E-1};
// Single precision needs only the last terms of each.
constexpr size_t kBesselSmallTerms32 = 17;
constexpr size_t kBesselLargeTerms32 = 7;

// Clenshaw's recurrence, coefficients from high to low order.
Expr chebyshev(const Expr &x, ArrayRef<double> coefficients) {
  Expr b0 = x.like(0), b1 = b0, b2 = b0;
  for (double coefficient : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + coefficient;
  }
  return 0.5 * (b0 - b2);
}

Expr besselI1e(const Expr &x) {
  ArrayRef<double> small = kBesselSmall64, large = kBesselLarge64;
  if (!x.getElementType().isF64()) {
    small = small.take_back(kBesselSmallTerms32);
    large = large.take_back(kBesselLargeTerms32);
  }
  Expr a = abs(x);
  Expr nearZero = chebyshev(0.5 * a - 2, small) * a;
  Expr far = chebyshev(32 / a - 2, large) / sqrt(a);
  return sign(x) * select(a <= 8, nearZero, far);
}

} // namespace

namespace {
// The formulas above in the precision they are made for.
template <auto formula> Expr widened(const Expr &x) {
  return compute(x, [](ArrayRef<Expr> operands) { return formula(operands.front()); });
}

struct BesselPattern : public FormulaPattern<chlo::BesselI1eOp, widened<besselI1e>> {
  using FormulaPattern::FormulaPattern;
  LogicalResult matchAndRewrite(chlo::BesselI1eOp op, PatternRewriter &rewriter) const override {
    if (isa<ComplexType>(getElementTypeOrSelf(op.getType())))
      return op.emitOpError("cannot be decomposed to stablehlo: bessel_i1e is defined for real "
                            "operands only, but this one is ")
             << op.getType();
    return FormulaPattern::matchAndRewrite(op, rewriter);
  }
};
} // namespace

void populateLowerChloErrorFunctions(RewritePatternSet &patterns) {
  patterns
      .add<FormulaPattern<chlo::ErfOp, widened<erf>>, FormulaPattern<chlo::ErfcOp, widened<erfc>>,
           FormulaPattern<chlo::ErfInvOp, widened<erfInv>>, BesselPattern>(patterns.getContext());
}

} // namespace cupel::compiler
