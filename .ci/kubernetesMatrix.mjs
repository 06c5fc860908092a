// Formats the results of `kubernetes.mjs` as the table in README.md.

const START = "<!-- written by `npm run test:kubernetes` -->\n";
const END = "<!-- end of the table -->\n";
const COUNTS = { passed: "passed", failed: "failed", skipped: "skipped", notRun: "not run" };

/**
 * @typedef {object} VersionResult
 * @property {string} release such as "v1.36.3"
 * @property {{passed: number, failed: number, notRun: number}} conformance
 * @property {{passed: number, failed: number, skipped: number}} [tests] absent if they did not run
 * @property {string} date such as "2026-01-31"
 */

/**
 * Returns whether everything that ran on this version passed, and something did.
 * @param {VersionResult} result
 */
export function isSuccess({ conformance, tests = conformance }) {
  return [conformance, tests].every(({ passed, failed }) => passed > 0 && failed === 0);
}

/**
 * Returns the table as Markdown, the newest version first. It has a column for the integration tests only if they ran.
 * @param {readonly VersionResult[]} results the oldest version first
 */
export function formatMatrix(results) {
  const columns = [
    ["Kubernetes", ({ release }) => release],
    ["conformance scenarios of profile core", ({ conformance }) => formatCounts(conformance)],
    ...(results.some(({ tests }) => tests) ? [["integration tests", ({ tests = {} }) => formatCounts(tests)]] : []),
    ["date of the run", ({ date }) => date],
  ];
  const rows = [columns.map(([title]) => title), ...results.toReversed().map((result) => columns.map(([, getCell]) => getCell(result)))];
  const widths = columns.map((_, at) => Math.max(...rows.map((cells) => cells[at].length)));
  const lines = rows.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at])));
  const rule = widths.map((width) => "-".repeat(width));
  return [lines[0], rule, ...lines.slice(1)].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/**
 * Returns `text` with another table between the markers.
 * @throws Error if a marker is missing
 */
export function replaceMatrix(text, table) {
  const [from, to] = [text.indexOf(START), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`cannot write the table: the text does not contain ${START.trim()} before ${END.trim()}`);
  return `${text.slice(0, from + START.length)}\n${table}\n${text.slice(to)}`;
}

function formatCounts(counts) {
  const shown = Object.entries(counts).filter(([name, count]) => name === "passed" || count > 0);
  return shown.map(([name, count]) => `${count} ${COUNTS[name]}`).join(", ");
}
