import type { Property } from "../../pkg/fbc/types.ts";
import type { CelRules } from "../../pkg/resolve/cel/celRules.ts";

/** The verdict about a rule: it is invalid, fails for these properties, or is true or false. */
export type CelVerdict = "malformed" | "error" | "true" | "false";

/** Returns the verdict of CelRules. */
export function judgeRule(cel: CelRules, rule: string, properties: readonly Property[]): CelVerdict {
  let compiled: ReturnType<CelRules["compiled"]>;
  try {
    compiled = cel.compiled(rule);
  } catch {
    return "malformed";
  }
  const { holds, failure } = compiled.evaluate(properties);
  if (failure !== undefined) return "error";
  return holds ? "true" : "false";
}
