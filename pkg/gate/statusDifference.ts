import { isDeepStrictEqual } from "node:util";
import { goQuote } from "../golang/quote.ts";
import { canonicalJson } from "../golang/json.ts";
import { listOf, membersOf, textOf } from "./operatorCondition.ts";

/**
 * What is another in the status `after` than in `before`, both of a ClusterOperator, clause by clause; the kept operator conditions are
 * mentioned only where nothing else has changed.
 * @see https://github.com/openshift/library-go/blob/master/pkg/config/clusteroperator/v1helpers/status.go GetStatusDiff
 */
export function statusDifference(before: unknown, after: unknown): string {
  const [old, next] = [membersOf(before), membersOf(after)];
  const was = listOf(old["conditions"]);
  const clauses = listOf(next["conditions"]).flatMap((condition) => {
    const clause = clauseOn(
      condition,
      was.find(({ type }) => type === condition["type"]),
    );
    return clause === undefined ? [] : [clause];
  });
  for (const member of ["relatedObjects", "versions"]) {
    if (isDeepStrictEqual(old[member], next[member])) continue;
    clauses.push(`status.${member} changed from ${canonicalJson(old[member] ?? null)} to ${canonicalJson(next[member] ?? null)}`);
  }
  return clauses.length === 0 ? "status.extension changed" : clauses.join(",");
}

function clauseOn(condition: Readonly<Record<string, unknown>>, was: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const of = (object: typeof condition, member: string): string => textOf(object[member]);
  const type = of(condition, "type");
  const status = of(condition, "status");
  const message = goQuote(of(condition, "message"));
  if (was === undefined) return `${type} set to ${status} (${message})`;
  if (was["status"] !== status) return `${type} changed from ${of(was, "status")} to ${status} (${message})`;
  if (was["message"] !== condition["message"]) return `${type} message changed from ${goQuote(of(was, "message"))} to ${message}`;
  if (was["reason"] === condition["reason"]) return undefined;
  return `${type} reason changed from ${goQuote(of(was, "reason"))} to ${goQuote(of(condition, "reason"))}`;
}
