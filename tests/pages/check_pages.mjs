// The pages and their server: node check_pages.mjs BIN [PARTS OF NAMES OF TESTS, PARTED BY |]. Ends with `N passed, N failed`.
import { run } from "./lib.mjs";
import "./server.mjs";
import "./jobs.mjs";

if (!process.env.CUPEL_NO_BROWSER) {
  await import("./dashboard.mjs");
  await import("./explorer.mjs");
  await import("./job_pages.mjs");
  await import("./postgres.mjs");
  await import("./stock_explorer.mjs");
}

await run();
