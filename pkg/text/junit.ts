import { escapeMarkup } from "./escape.ts";

/** A test case of a JUnit report. */
export interface JunitCase {
  readonly name: string;
  /** The group of the case. */
  readonly className: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** Why the case failed or was skipped; its first line is the summary. */
  readonly message?: string | undefined;
  readonly output?: string | undefined;
}

/**
 * Formats a JUnit report with one test suite.
 * @param suite a name that is the same for each run, so that CI systems can compare runs.
 * @see https://github.com/testmoapp/junitxml
 */
export function formatJunit(suite: string, cases: readonly JunitCase[]): string {
  const count = (state: JunitCase["state"]): number => cases.filter((one) => one.state === state).length;
  const time = cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3);
  const totals = `tests="${cases.length}" failures="${count("failed")}" skipped="${count("skipped")}" errors="0" time="${time}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="olmv1" ${totals}>`,
    `  <testsuite name="${escapeMarkup(suite)}" ${totals}>`,
    ...cases.map(formatCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function formatCase({ name, className, state, seconds, message = "", output = "" }: JunitCase): string {
  const head = `    <testcase classname="${escapeMarkup(className)}" name="${escapeMarkup(name)}" time="${seconds.toFixed(3)}"`;
  const [summary = ""] = message.split("\n");
  const body = [
    ...(state === "failed" ? [`      <failure message="${escapeMarkup(summary)}">${escapeMarkup(message)}</failure>`] : []),
    ...(state === "skipped" ? [`      <skipped message="${escapeMarkup(summary)}"/>`] : []),
    ...(output === "" ? [] : [`      <system-out>${escapeMarkup(output)}</system-out>`]),
  ];
  return body.length === 0 ? `${head}/>` : [`${head}>`, ...body, "    </testcase>"].join("\n");
}
