import { compareText } from "../../text/compare.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { describeConstraint, holds } from "../constraint/evaluate.ts";
import { gvkKey } from "../constraint/parse.ts";

/** A bundle that an extension has installed, with what it asks of others. */
export interface InstalledMember {
  /** Name of the extension; no two are the same. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  readonly declared: { readonly constraints: readonly BundleConstraint[] };
}

/** What is to go, and from where. */
export interface Removal {
  /** The extension that is to go. */
  readonly leaving: string;
  /** Other extensions that are going as well, which hold nothing up. */
  readonly going?: ReadonlySet<string>;
  /** All that is installed, in any order. */
  readonly installed: readonly InstalledMember[];
  /** The APIs that the cluster serves, whoever provides them. */
  readonly served: readonly Gvk[];
}

/** An installed bundle that depends on another one. */
export interface Dependent {
  readonly extension: string;
  readonly bundle: string;
  /** What of it would no longer hold, such as `package "b" >=2.0.0`; at least one, in the order of the bundle. */
  readonly needs: readonly string[];
}

/**
 * The installed bundles of which a constraint holds now and would not hold without the leaving extension, by name of the extension. The APIs
 * that it provides go with it, although its definitions may stay: nobody would look after them. A constraint that does not hold now holds
 * nothing up.
 * Extensions that go at the same time are taken in the order of their names, each of them for gone unless it is held up itself: of two of
 * which one has to stay the first may go, and of two that both have to stay none may.
 */
export function findDependents({ leaving, going = new Set(), installed, served }: Removal): Dependent[] {
  if (!installed.some(({ extension }) => extension === leaving)) return [];
  const provided = new Set(installed.flatMap(({ provider }) => provider.apis.map(gvkKey)));
  const ofNobody = served.filter((gvk) => !provided.has(gvkKey(gvk)));
  const inOrder = [leaving, ...going].sort();
  const isNeeded = (constraint: BundleConstraint): boolean => {
    let present = installed;
    if (!holdsAmong(constraint, present, ofNobody)) return false;
    for (const name of inOrder) {
      const rest = present.filter(({ extension }) => extension !== name);
      const isHeld = !holdsAmong(constraint, rest, ofNobody);
      if (name === leaving) return isHeld;
      if (!isHeld) present = rest;
    }
    return false;
  };
  return installed
    .filter(({ extension }) => extension !== leaving && !going.has(extension))
    .map(({ extension, bundle, declared }) => ({ extension, bundle, needs: declared.constraints.filter(isNeeded).map(describeConstraint) }))
    .filter(({ needs }) => needs.length > 0)
    .sort((a, b) => compareText(a.extension, b.extension));
}

function holdsAmong(constraint: BundleConstraint, members: readonly InstalledMember[], served: readonly Gvk[]): boolean {
  return holds(
    constraint,
    members.map(({ provider }) => provider),
    served,
  );
}
