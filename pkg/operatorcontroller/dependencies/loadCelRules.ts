import type { CelCompiler } from "../../resolve/constraint/constraint.ts";

/** What compiles rules of CEL, loaded by the first call (see `CelCompiler`). To be called where `mentionsCel` says that there is a rule. */
export async function loadCelRules(): Promise<CelCompiler> {
  const { CelRules } = await import("../../resolve/cel/celRules.ts");
  return new CelRules();
}
