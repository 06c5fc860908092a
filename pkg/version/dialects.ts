const COMPARATOR = /(>=|<=|==|!=|[<>=!])\s+/g;
const COMPARISON = /^(>=|<=|==|!=|[<>=!])?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;
const OPERATORS: Readonly<Record<string, string>> = { "==": "=", "!": "!=" };

/**
 * A range in blang's language, as dependencies state it, in that of `spec.source.catalog.version`; undefined where it says something that cannot
 * be said there. Prereleases are another matter: there only a range that names one has prereleases in it.
 */
export function mastermindsRange(blangRange: string): string | undefined {
  const groups = blangRange
    .replace(COMPARATOR, "$1")
    .split("||")
    .map((group) => groupText(group.trim()));
  return groups.some((group) => group === undefined) ? undefined : groups.join(" || ");
}

function groupText(group: string): string | undefined {
  const comparisons = group.split(/\s+/).map((comparison) => {
    const [, operator = "", version] = COMPARISON.exec(comparison) ?? [];
    return version === undefined ? undefined : `${OPERATORS[operator] ?? operator}${version}`;
  });
  return comparisons.some((comparison) => comparison === undefined) ? undefined : comparisons.join(", ");
}
