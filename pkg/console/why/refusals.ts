import type { RefusalView } from "../../consoleapi/why.ts";
import type { RefusalRecord } from "../../resolve/dependencies/refusalRecord.ts";
import { toSentence } from "../../text/sentence.ts";
import { CAUSE_LENGTH, NAME_LENGTH, truncate } from "../../text/truncate.ts";

const MAX_REFUSALS = 32;
const MAX_LISTED = 100;

/** Describes the bundles that were rejected because of their dependencies. */
export function listRefusals(records: readonly RefusalRecord[] = []): RefusalView[] {
  return records.slice(0, MAX_REFUSALS).map(toRefusal);
}

function toRefusal({ bundle, reasons, requires = [], provided = [], dependents = [], conflictSet, remedy }: RefusalRecord): RefusalView {
  const texts = (list: readonly string[]): string[] => list.slice(0, MAX_LISTED).map((text) => truncate(text, CAUSE_LENGTH));
  return {
    bundle: truncate(bundle, NAME_LENGTH),
    reasons: reasons.slice(0, MAX_LISTED).map((text) => toSentence(text)),
    requires: texts(requires),
    provided: provided.slice(0, MAX_LISTED).map((one) => ({ ...one })),
    dependents: dependents.slice(0, MAX_LISTED).map((one) => ({ ...one, requires: texts(one.requires) })),
    conflict: (conflictSet?.sentences ?? []).slice(0, MAX_LISTED).map(({ text, kind, bundles, constraints }) => ({
      text: toSentence(text),
      kind,
      bundles: bundles.slice(0, MAX_LISTED).map((one) => ({ package: one.packageName, bundle: one.name, catalog: one.catalog })),
      needs: texts(constraints.map((constraint) => constraint.text)),
    })),
    remedy: remedy ? describeRemedy(remedy) : [],
  };
}

/** Returns the steps that make the installation possible, in their order. */
function describeRemedy({ kind, steps = [], catalog, bundles }: NonNullable<RefusalRecord["remedy"]>): string[] {
  const name = (one: { readonly bundle: string; readonly catalog?: string | undefined }): string =>
    `${one.bundle}${one.catalog === undefined ? "" : ` of catalog ${one.catalog}`}`;
  const updates = steps.map((step) => {
    if (step.kind === "install") return `install ${name(step)} with a ClusterExtension for package ${step.package}`;
    const range = step.excludedBy === undefined ? "" : `, which its version range ${step.excludedBy} excludes`;
    return `update ClusterExtension ${step.extension ?? step.package} to ${name(step)}${range}`;
  });
  const together = kind === "deadlock" && updates.length > 0 ? ["these updates are only possible together"] : [];
  const select = catalog === undefined ? [] : [`select catalog ${catalog} with spec.source.catalog.selector`];
  const install = bundles.map((one) => `install ${name(one)} with a ClusterExtension for package ${one.package}`);
  const all = [...together, ...updates, ...select, ...install];
  const alternative = bundles.length > 0 ? ["or set spec.dependencies.policy to Install, so that the controller installs them"] : [];
  return [...all, ...alternative].slice(0, MAX_LISTED).map((text) => toSentence(text));
}
