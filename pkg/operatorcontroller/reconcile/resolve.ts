import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import type { Step } from "../../controller/reconcile.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import type { PackageContent } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { canonical, parse } from "../../oci/reference.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { keptProperties } from "../../release/providedBundle.ts";
import { statedRelease } from "../../resolve/candidates.ts";
import { dependenciesOf } from "../../resolve/constraint/parse.ts";
import { silenceReason } from "../../resolve/explain.ts";
import { compileSelector } from "../../resolve/labelSelector.ts";
import { blockingCatalog, type CatalogContent, type Considered, type Resolved, type Unresolved } from "../../resolve/resolution.ts";
import { choose, consider } from "../../resolve/resolve.ts";
import { conditionText } from "../../resolve/wording.ts";
import { compareText } from "../../text/compare.ts";
import { CAUSE_LENGTH, NAME_LENGTH, truncate } from "../../text/truncate.ts";
import { parseConstraint } from "../../version/masterminds.ts";
import { formatVersion, formatVersionRelease, isSameVersion, parseVersionRelease } from "../../version/version.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import type { DependencyChoice, LeftOut } from "../dependencies/dependencyChoice.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { findInstalledCatalog, type ReconcileState, type ResolvedBundle } from "../state/reconcileState.ts";
import { type IsOver, WaitingError } from "../state/waiting.ts";

/** What resolving needs from the outside. */
export interface ResolveDependencies {
  catalogs: CatalogLister;
  contents: CatalogContents;
  dependencies: Pick<DependencyChoice, "choose">;
}

/** Lists the ClusterCatalogs of the cluster, from a cache. */
export interface CatalogLister {
  list(): readonly ClusterCatalog[];
}

/** The catalogs hold no bundle to install, or cannot be asked for one. */
export class UnresolvedError extends RetryableError {
  readonly unresolved: Unresolved["cause"];

  constructor(unresolved: Unresolved["cause"], message: string) {
    super(Reason.Retrying, message);
    this.unresolved = unresolved;
  }
}

/**
 * Chooses the bundle to work towards.
 * When resolution fails the first matching row decides:
 *
 * | nothing installed, or the selector is invalid            | the error |
 * | `version` does not contain the installed version         | the error |
 * | a catalog that cannot be asked could change the answer   | keep the installed bundle, unless `channels` are known to exclude it |
 * | some ClusterCatalog matches the selector                 | the error |
 * | no catalog is left                                       | keep the installed bundle |
 *
 * With an error what is installed stays, and is maintained by the end of the pass; the error says that it stays.
 * @see operator-controller internal/operator-controller/controllers/clusterextension_reconcile_steps.go handleResolutionError
 */
export function resolveBundle({
  catalogs,
  contents,
  dependencies,
}: ResolveDependencies): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "ResolveBundle",
    async run(facts, { signal, log }) {
      const { catalog: source } = facts.extension.spec.source;
      if (!source)
        throw new TerminalError(
          Reason.Blocked,
          "spec.source.catalog is missing: name the package to install in spec.source.catalog.packageName",
        );
      const matching = matchingCatalogs(catalogs, source);
      facts.catalogs = await contents.of(matching, source.packageName, signal);
      const considered = consider({
        source,
        catalogs: facts.catalogs,
        installed: facts.installed,
        installedFrom: findInstalledCatalog(facts),
        cluster: facts.clusterVersion,
      });
      const ignores = facts.extension.spec.dependencies?.policy === "Ignore";
      const { resolution, pending, unfit } =
        "kind" in considered || ignores
          ? { resolution: "kind" in considered ? considered : choose(considered) }
          : await dependencies.choose(facts.extension, considered, matching, signal);
      if (resolution.considered) facts.considered = resolution.considered;
      if (resolution.kind === "unresolved") {
        if (unfit && resolution.cause === "nothing") throw unsatisfied(facts, unfit);
        const kept = keptInstead(resolution, facts.installed, source, matching);
        if (!kept) {
          const text = `${resolution.reason}${staying(facts.installed)}; ${resolution.explanation}`;
          throw new UnresolvedError(resolution.cause, conditionText(text, facts.extension.metadata.name));
        }
        facts.resolved = { ...kept.installed, explanation: kept.explanation };
        facts.notes.push(conditionText(kept.note, facts.extension.metadata.name));
        if (resolution.cause === "catalog") facts.awaits = answersAgain({ catalogs, contents }, source, facts.catalogs);
        return undefined;
      }
      facts.deprecation = { kind: "known", entries: resolution.deprecations };
      if (resolution.newest) facts.newest = resolution.newest;
      if (pending) facts.pending = pending;
      facts.resolved = resolvedFrom(resolution, source);
      facts.notes.push(...resolution.notes);
      if (ignores && dependenciesOf(resolution.bundle).length > 0)
        facts.notes.push(
          `the dependencies of bundle ${goQuote(resolution.bundle.name)} are not checked: spec.dependencies.policy is Ignore`,
        );
      if (unfit) {
        facts.notes.push(
          conditionText(`bundle ${goQuote(unfit.bundle)} is not chosen: ${unfit.clauses.join("; ")}`, facts.extension.metadata.name),
        );
        facts.awaits = unfit.isOver;
      }
      const changed = facts.resolved.name !== facts.installed?.name;
      const { name, version, catalog, edge, explanation } = facts.resolved;
      log[changed ? "info" : "debug"]({ bundle: name, version, catalog, edge, explanation }, "bundle resolved");
      return undefined;
    },
  };
}

/** Returns the catalogs that `source` selects, by name. A catalog that is being deleted never answers again, so it is not one of them. */
export function matchingCatalogs(catalogs: CatalogLister, source: CatalogSource): ClusterCatalog[] {
  const { matches } = compileSelector(source.selector);
  const matching = catalogs.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined && matches(metadata.labels ?? {}));
  return matching.sort((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/** The installed bundle, kept because nothing can be resolved. */
interface KeptBundle {
  readonly installed: InstalledBundle;
  readonly explanation: string;
  readonly note: string;
}

/** Returns what to keep where resolution failed, by the table of `resolveBundle`; undefined where the failure is an error. */
function keptInstead(
  { cause, considered }: Unresolved,
  installed: InstalledBundle | undefined,
  source: CatalogSource,
  matching: readonly ClusterCatalog[],
): KeptBundle | undefined {
  if (!installed || cause === "selector" || !isSatisfied(source.version, installed)) return undefined;
  const blocking = considered && blockingCatalog(considered);
  if (cause === "catalog" && considered && blocking && !isOutsideChannels(considered, installed)) {
    const because = truncate(silenceReason(blocking), CAUSE_LENGTH);
    const note = `catalog ${goQuote(blocking.name)} cannot be asked and may have a better bundle (${because}): bundle ${goQuote(installed.name)} stays installed until the catalog answers, is deleted, or has a lower spec.priority`;
    return { installed, explanation: note, note };
  }
  if (matching.length > 0) return undefined;
  return {
    installed,
    explanation: "no catalog is left to resolve from: the installed bundle is kept",
    note: "no ClusterCatalog matches: the installed bundle is kept as it is",
  };
}

/** Reports whether catalogs are known to have the installed bundle, and none of them in a channel that `spec.source.catalog.channels` names. */
function isOutsideChannels({ selected, query: { channels } }: Considered, { name }: InstalledBundle): boolean {
  if (channels.length === 0) return false;
  const having = selected
    .flatMap(({ content, lastKnown }) => content ?? lastKnown?.content ?? [])
    .filter(({ bundles }) => bundles.some((bundle) => bundle.name === name));
  const isInside = (content: PackageContent): boolean =>
    content.channels.some((channel) => channels.includes(channel.name) && channel.entries.some((entry) => entry.name === name));
  return having.length > 0 && !having.some(isInside);
}

/** Asks whether one of the catalogs that could not answer has gone or answers by now. */
function answersAgain(
  { catalogs, contents }: Pick<ResolveDependencies, "catalogs" | "contents">,
  source: CatalogSource,
  before: readonly CatalogContent[],
): IsOver {
  const silent = before.flatMap(({ name, unavailable }) => (unavailable === undefined ? [] : [name]));
  return async (signal) => {
    const still = matchingCatalogs(catalogs, source).filter(({ metadata }) => silent.includes(metadata.name));
    const asked = await contents.of(still, source.packageName, signal);
    return asked.length < silent.length || asked.some(({ unavailable }) => unavailable === undefined);
  };
}

/** Whether a version range contains what is installed; its own text does so in any case. */
function isSatisfied(range: string | undefined, { version, release }: InstalledBundle): boolean {
  if (range === undefined || range === "" || range === version) return true;
  try {
    return parseConstraint(range).contains(parseVersionRelease(version, release).version);
  } catch {
    return false;
  }
}

function staying(installed: InstalledBundle | undefined): string {
  return installed ? `; bundle ${goQuote(installed.name)} (version ${installed.version}) stays installed` : "";
}

/** Nothing goes on before something else is installed, served or updated; that is looked for meanwhile. */
function unsatisfied({ extension, installed }: ReconcileState, { bundle, clauses, isOver }: LeftOut): TerminalError {
  const text = `bundle ${goQuote(bundle)} cannot be installed: ${clauses.join("; ")}${staying(installed)}`;
  const message = conditionText(text, extension.metadata.name);
  const cause = new WaitingError(Reason.UnsatisfiedDependencies, message, { isOver });
  return new TerminalError(Reason.UnsatisfiedDependencies, message, { cause });
}

function resolvedFrom(resolution: Resolved, source: CatalogSource): ResolvedBundle {
  const { bundle, catalog, explanation, edge, cautions } = resolution;
  return {
    packageName: source.packageName,
    name: bundle.name,
    ...versionTexts(resolution),
    image: bundle.image,
    properties: keptProperties(bundle.properties),
    catalog,
    explanation,
    ...(cautions.length > 0 ? { cautions } : {}),
    ...(edge ? { edge: edge.via === "stay" ? "stay" : `${edge.via} in channel ${edge.channel}` } : {}),
  };
}

/** As a release records them: a release that the bundle states apart stays apart, one that is build metadata goes with the version. */
function versionTexts({ bundle, version }: Resolved): Pick<InstalledBundle, "version" | "release"> {
  const release = statedRelease(bundle);
  return release === undefined ? { version: formatVersionRelease(version) } : { version: formatVersion(version.version), release };
}

/** The bundle to work towards, and what is to be said about the image that its catalog names. */
export interface KeptContent {
  readonly bundle: ResolvedBundle;
  /** Set where the catalog names other content for what is installed. */
  readonly changed?: string;
}

/**
 * What of a resolved bundle counts when it is the installed one: content under one version is taken as it was installed, whatever the catalog
 * says of it by now.
 *
 * | the catalog names                        | is pulled                                      |
 * | another bundle, or none is installed     | what it names                                  |
 * | the reference that was installed         | the digest that was pulled, whatever a tag says |
 * | the same digest in another place         | that digest, from that place                   |
 * | anything else                            | what was installed, which is said              |
 */
export function keptContent(resolved: ResolvedBundle, installed: InstalledBundle | undefined): KeptContent {
  if (!installed || !isSameBundle(resolved, installed)) return { bundle: resolved };
  const digest = installed.imageDigest ?? digestIn(installed.image);
  const isElsewhere = digest !== undefined && digestIn(resolved.image) === digest;
  const bundle: ResolvedBundle = {
    ...resolved,
    ...installed,
    release: installed.release,
    imageDigest: digest,
    pullFrom: byDigest(isElsewhere ? resolved.image : installed.image, digest),
  };
  if (isElsewhere || resolved.image === installed.image) return { bundle };
  const where = resolved.catalog === undefined ? "" : `catalog ${goQuote(resolved.catalog)} names `;
  return {
    bundle: { ...bundle, offered: resolved.image },
    changed: `${where}image ${quoteReference(resolved.image)} for bundle ${goQuote(resolved.name)} now: what was installed from ${quoteReference(installed.image)} stays, for content is not replaced under the same version`,
  };
}

/** Keeps the content of what is installed, and tells once what else the catalog says and what was disregarded in a choice. */
export function keepContent(events: EventSink, memory: ExtensionCache): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "KeepContent",
    run(facts) {
      const { extension, resolved, installed } = facts;
      if (!resolved || facts.pinned) return Promise.resolve(undefined);
      const { bundle, changed } = keptContent(resolved, installed);
      facts.resolved = bundle;
      const { cautions = [] } = bundle;
      facts.notes.push(...(changed === undefined ? [] : [changed]), ...cautions);
      const remembered = memory.of(extension);
      const isNew = installed === undefined || !isSameBundle(bundle, installed);
      const decided = JSON.stringify([changed ?? "", isNew ? cautions : []]);
      if (remembered.decided === decided) return Promise.resolve(undefined);
      remembered.decided = decided;
      if (changed !== undefined) events.record(extension, "Warning", "BundleContentChanged", changed);
      if (isNew) for (const caution of cautions) events.record(extension, "Warning", "UnadvisedBundle", caution);
      return Promise.resolve(undefined);
    },
  };
}

/** By package, name, and version with release; a version that cannot be read is only the same as its own text. */
function isSameBundle(a: InstalledBundle, b: InstalledBundle): boolean {
  return a.packageName === b.packageName && a.name === b.name && isSameVersion(a, b);
}

/** A reference, which a catalog may write at any length. */
function quoteReference(reference: string): string {
  return goQuote(truncate(reference, NAME_LENGTH));
}

function digestIn(reference: string): string | undefined {
  const at = reference.lastIndexOf("@");
  return at < 0 ? undefined : reference.slice(at + 1);
}

/** What is no reference stays as it is: pulling says what is wrong with it. */
function byDigest(reference: string, digest: string | undefined): string {
  const parsed = parse(reference);
  return digest === undefined || typeof parsed === "string" ? reference : canonical(parsed, digest);
}

/**
 * Remembers whether some catalog could not be asked although the pass got on without it. Nothing tells when a server answers again, so such an
 * extension is looked at again soon.
 */
export function lookAgain(memory: ExtensionCache): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "LookAgain",
    run({ extension, catalogs = [] }) {
      memory.of(extension).missesCatalogs = catalogs.some(({ unavailable }) => unavailable !== undefined);
      return Promise.resolve(undefined);
    },
  };
}

/**
 * Tells that resolution came to another bundle than the last time, once, with the explanation; after a start, than what is installed.
 * That it comes to none, or fails for another reason, is told by condition Progressing and its Event.
 */
export function choiceEvents(events: EventSink, memory: ExtensionCache): (facts: ReconcileState) => void {
  return ({ extension, resolved, considered, pinned }) => {
    if (!considered || pinned) return;
    const remembered = memory.of(extension);
    const { installed } = considered;
    if (resolved?.catalog === undefined) {
      remembered.choice = "";
      return;
    }
    const choice = JSON.stringify([resolved.catalog, resolved.name, resolved.version]);
    const isSameAsInstalled = installed?.name === resolved.name && installed.version === resolved.version;
    const isKnown = remembered.choice === undefined ? isSameAsInstalled : remembered.choice === choice;
    remembered.choice = choice;
    if (!isKnown) events.record(extension, "Normal", "Resolved", resolved.explanation);
  };
}
