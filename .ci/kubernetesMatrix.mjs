// Formats the results of `kubernetes.mjs` as the table in README.md.

const START = "<!-- written by `npm run test:kubernetes` -->\n";
const END = "<!-- end of the table -->\n";
const VERSION = "Kubernetes";
const TESTS = "integration tests";
const COUNTS = { passed: "passed", failed: "failed", skipped: "skipped", notRun: "not run" };

/**
 * @typedef {object} VersionResult
 * @property {string} release such as "v1.36.3"
 * @property {{passed: number, failed: number, notRun: number}} conformance
 * @property {{passed: number, failed: number, skipped: number}} [tests] absent if they did not run
 * @property {string} date such as "2026-01-31"
 */

/**
 * Returns the counts of a run. A run that failed without a failed test counts as one failure: an
 * error outside of a test, or a failed cleanup, is in no report.
 * @template {{failed: number}} T
 * @param {T} counts
 * @param {number | null} code the exit code; null after a signal
 */
export function countRun(counts, code) {
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/**
 * Returns whether everything that ran on this version passed, and something did.
 * @param {VersionResult} result
 */
export function isSuccess({ conformance, tests = conformance }) {
  return [conformance, tests].every(({ passed, failed }) => passed > 0 && failed === 0);
}

/**
 * Returns the table as Markdown, one row for each result. It has a column for the integration tests only if they ran.
 * @param {readonly VersionResult[]} results
 */
export function formatMatrix(results) {
  return formatRows(results.map(toCells));
}

/**
 * Returns `text` with another table between the markers: the rows of `results`, and those of the earlier table for other versions.
 * @param {readonly string[]} releases the versions of the table, in this order
 * @throws Error if a marker is missing
 */
export function replaceMatrix(text, results, releases) {
  const [from, to] = [text.indexOf(START), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`cannot write the table: the text does not contain ${START.trim()} before ${END.trim()}`);
  const rows = [...results.map(toCells), ...parseRows(text.slice(from + START.length, to))];
  const table = formatRows(releases.flatMap((release) => rows.find((cells) => cells[VERSION] === release) ?? []));
  return `${text.slice(0, from + START.length)}\n${table}\n${text.slice(to)}`;
}

/** Returns the texts of a row by the titles of its columns. */
function toCells({ release, conformance, tests, date }) {
  return {
    [VERSION]: release,
    "conformance scenarios of profile core": formatCounts(conformance),
    ...(tests ? { [TESTS]: formatCounts(tests) } : {}),
    "date of the run": date,
  };
}

function formatRows(rows) {
  const complete = rows.some((cells) => TESTS in cells) ? rows.map((cells) => ({ [TESTS]: "not run", ...cells })) : rows;
  const titles = Object.keys(toCells({ conformance: {}, tests: {} })).filter((title) => title in (complete[0] ?? {}));
  const table = [titles, ...complete.map((cells) => titles.map((title) => cells[title]))];
  const widths = titles.map((_, at) => Math.max(...table.map((cells) => cells[at].length)));
  const lines = table.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at])));
  const rule = widths.map((width) => "-".repeat(width));
  return [lines[0], rule, ...lines.slice(1)].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Returns the rows of a table that `formatRows` wrote. */
function parseRows(table) {
  const [titles = [], , ...rows] = table
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").slice(1, -1));
  return rows.map((cells) => Object.fromEntries(cells.map((cell, at) => [titles[at].trim(), cell.trim()])));
}

function formatCounts(counts) {
  const shown = Object.entries(counts).filter(([name, count]) => name === "passed" || count > 0);
  return shown.map(([name, count]) => `${count} ${COUNTS[name]}`).join(", ");
}
