import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { messageOf, wrapError } from "../../../pkg/errors/errors.ts";
import type { Property } from "../../../pkg/fbc/types.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { hideSourced } from "../../../pkg/operatorcontroller/configuration/hiding.ts";
import { loadCelRules } from "../../../pkg/operatorcontroller/dependencies/loadCelRules.ts";
import { type PassFacts, newFacts } from "../../../pkg/operatorcontroller/facts.ts";
import { ExtensionMemory } from "../../../pkg/operatorcontroller/memory.ts";
import { ReleaseStore, requireReadable } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import { keepContent } from "../../../pkg/operatorcontroller/steps/keepContent.ts";
import { readConfiguration } from "../../../pkg/operatorcontroller/steps/readConfiguration.ts";
import { resolveBundle } from "../../../pkg/operatorcontroller/steps/resolveBundle.ts";
import { installedOf } from "../../../pkg/operatorcontroller/steps/retrieveReleases.ts";
import { describe } from "../../../pkg/resolve/constraint/evaluate.ts";
import { constraintsOf, faultText, isDependency } from "../../../pkg/resolve/constraint/parse.ts";
import { choose } from "../../../pkg/resolve/resolve.ts";
import { enumerated } from "../../../pkg/resolve/wording.ts";
import type { ClusterVersion } from "../../../pkg/version/clusterVersion.ts";
import { readClusterVersion } from "../upgradeCheck/clusterState.ts";
import { contentsFrom } from "./catalogs.ts";
import type { PlanRequest } from "./planRequest.ts";

/** Stands in for the uid of an extension that does not exist: an owner reference needs one. */
const NO_UID = "00000000-0000-0000-0000-000000000000";

/**
 * What a pass over the extension would know before it renders the bundle: releases, resolution and configuration.
 * @throws Error where no bundle can be resolved, or the cluster may not be asked.
 */
export async function factsOf(request: PlanRequest): Promise<PassFacts> {
  const { wanted, catalogs, client, clusterProxy, scoped, isServiceAccount, reader, systemNamespace, log, signal } = request;
  const { metadata, spec } = wanted.extension;
  const { uid = NO_UID } = metadata;
  const extension = { ...wanted.extension, metadata: { ...metadata, uid }, spec };
  const facts = newFacts(extension, await clusterVersion(client), clusterProxy);
  facts.history = await new ReleaseStore(client, systemNamespace)
    .history({ name: metadata.name, uid }, { signal })
    .catch((err: unknown) => {
      throw wrapError(`read the releases of ClusterExtension ${goQuote(metadata.name)} in namespace ${goQuote(systemNamespace)}: `, err);
    });
  requireReadable(facts.history, "cannot plan: ");
  facts.installed = installedOf(facts.history.current);
  hideSourced(facts);
  facts.scoped = scoped.telling((text) => facts.hidden.hide(text));
  const before = wanted.extension.status?.install?.bundle.name;
  if (!facts.installed && before !== undefined)
    throw new Error(
      `bundle ${goQuote(before)} is installed, and namespace ${goQuote(systemNamespace)} holds no release of it; give --system-namespace the namespace of operator-controller (default ${SYSTEM_NAMESPACE})`,
    );
  await resolveBundle({
    catalogs: { list: () => catalogs },
    contents: contentsFrom(reader),
    dependencies: { choose: (_, considered) => Promise.resolve({ resolution: choose(considered) }) },
  }).run(facts, { object: extension, log, signal });
  facts.notes.push(...(await dependencyNotes(facts)));
  await keepContent({ record: () => undefined }, new ExtensionMemory()).run(facts, { object: extension, log, signal });
  await readConfiguration({ driftIntervalMs: 0, isServiceAccount }).run(facts, { object: extension, log, signal });
  return facts;
}

/** What the bundle depends on: whether that is met, operator-controller finds out. */
async function dependencyNotes({ extension, resolved }: PassFacts): Promise<string[]> {
  const properties = JSON.parse(resolved?.properties ?? "[]") as Property[];
  if (!resolved || extension.spec.dependencies?.policy === "Ignore" || !properties.some(({ type }) => isDependency(type))) return [];
  const { constraints, faults } = constraintsOf({ name: resolved.name, properties }, await loadCelRules());
  const policy = extension.spec.dependencies?.policy ?? "Require";
  const needs = constraints.map(describe);
  return [
    ...faults.map(faultText),
    ...(needs.length > 0
      ? [`it depends on ${enumerated(needs)}; whether that is met is not looked at here, spec.dependencies.policy is ${policy}`]
      : []),
  ];
}

async function clusterVersion(client: Client): Promise<ClusterVersion> {
  try {
    return await readClusterVersion(client);
  } catch (err) {
    return { kind: "unknown", because: messageOf(err) };
  }
}
