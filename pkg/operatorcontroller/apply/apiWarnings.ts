import type { ObjectRef } from "../../api/k8s.ts";
import { describeObject } from "../../release/identity.ts";
import { listed } from "./objectAction.ts";

/** Something that the API server, or an admission webhook or policy of the cluster, says about objects without refusing them. */
export interface ApiWarning {
  /** One printable line of at most 500 characters. */
  readonly text: string;
  /** The objects that it was said about. */
  readonly refs: readonly ObjectRef[];
}

/** Warnings by text, with the objects of each, both in an order that does not depend on which answer came first. */
export function inOrder(refsByText: ReadonlyMap<string, readonly ObjectRef[]>): ApiWarning[] {
  const byText = [...refsByText].sort(([a], [b]) => (a < b ? -1 : 1));
  return byText.map(([text, refs]) => ({ text, refs: refs.toSorted((a, b) => (describeObject(a) < describeObject(b) ? -1 : 1)) }));
}

/** Warnings that become Events; of the others the number is told. */
const TOLD = 5;

/** What Events say about the warnings that came with a bundle: one text a warning, six at most. */
export function warningTexts(warnings: readonly ApiWarning[], bundle: string): string[] {
  const texts = warnings
    .slice(0, TOLD)
    .map(({ text, refs }) => `the API server warns about ${listed(refs.map(describeObject))} of bundle "${bundle}": ${text}`);
  const more = warnings.length - texts.length;
  return more > 0 ? [...texts, `the API server warns of ${more} more things about bundle "${bundle}": olmv1 plan shows them`] : texts;
}
