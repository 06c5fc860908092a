import { getNamespace } from "../../api/clusterExtension.ts";
import { API_VERSION, CERTIFICATES_FIELD_MANAGER, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { EventReason } from "../../api/events.ts";
import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import {
  addCaBundle,
  type CaTarget,
  getCaBundles,
  isConversionLost,
  limitTarget,
  withBundle,
  withoutBundle,
} from "../../certificates/caBundle.ts";
import { type DesiredCertificate, listDesiredCertificates } from "../../certificates/desiredCertificates.ts";
import { listServedNames } from "../../certificates/providers.ts";
import {
  assessCertificates,
  type CertificateTimes,
  chooseNextAction,
  dropEndedAuthorities,
  type NewCertificate,
  promotePrepared,
  storeIssued,
  storePrepared,
} from "../../certificates/rotation.ts";
import {
  joinCertificates,
  parseCertificates,
  readStoredCertificates,
  type StoredCertificates,
  toServingSecret,
} from "../../certificates/storedCertificates.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import { RetryableError, wrapError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isDryRunUnsupported } from "../../kube/errors.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { type ObjectOwner, withOwner } from "../../release/labels.ts";
import { hasApplied } from "../../release/managedFields.ts";
import { determineOwnership, type ExtensionExists, getControllerUid } from "../../release/ownership.ts";
import { findLastDeployed, type ReleaseRecord } from "../../release/record.ts";
import type { CertificateIssuer } from "../../serving/certificateIssuer.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { WithClient } from "../state/phases.ts";
import { AbandonedObjects } from "./abandonedObjects.ts";
import type { ApplyServices } from "./applyContext.ts";

/** Reasons of Events about certificates. */
type CertificateEvent = Extract<EventReason, "CertificateIssued" | "CertificatePrepared" | "CertificateRenewed">;

/** The options of a CertificateKeeper. */
export interface KeeperOptions {
  /** The client of the extension's ServiceAccount. */
  client: Pick<Client, "get" | "apply">;
  issuer: CertificateIssuer;
  times: CertificateTimes;
  /** Milliseconds since the epoch. */
  now: () => number;
  owner: ObjectOwner;
  installNamespace: string;
  extensionExists: ExtensionExists;
  /** Finds Secrets that OLM v0 left. */
  abandoned: Pick<AbandonedObjects, "contains">;
  /** Keys of Secrets that another certificate provider wrote for a release of this extension. The keeper may take over these Secrets. */
  replaced: ReadonlySet<string>;
  /** Time of the last change of the CAs that the targets trust, in milliseconds since the epoch, by key of the Secret. Kept between reconciles. */
  trustedSince: Map<string, number>;
  /** Records an Event. */
  record: (reason: CertificateEvent, message: string) => void;
  signal: AbortSignal;
  log: Logger;
}

/** Maximum number of updates of one certificate in one reconcile. Three are always enough. */
const ACTIONS_MAX = 6;

/** An object, and the CA bundle that it must have. */
interface Trust {
  target: CaTarget;
  /** PEM */
  bundle: string;
}

/** Maintains the certificates that operator-controller provides for the webhooks and API services of an extension, with the extension's identity. */
export class CertificateKeeper {
  readonly #options: KeeperOptions;
  /** The CA bundles of all targets after `keep`, whether the targets exist or not. */
  readonly trusts: Trust[] = [];

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /**
   * Issues and renews certificates when they are due, and injects their CAs into the targets. Skips targets and webhooks that do not exist.
   * `keep` after the apply injects the CA into those that it created.
   * @returns the time of the next action, in milliseconds since the epoch.
   * @throws RetryableError with the name of the Secret.
   */
  async keep(desired: readonly DesiredCertificate[]): Promise<number> {
    let at = Number.POSITIVE_INFINITY;
    for (const one of desired) {
      try {
        at = Math.min(at, await this.#maintain(one));
      } catch (err) {
        this.#options.signal.throwIfAborted();
        throw wrapError(`cannot provide the serving certificate in ${describeObject(one.secret)}: `, err);
      }
    }
    return at;
  }

  async #maintain(desired: DesiredCertificate): Promise<number> {
    const { now, times, trustedSince } = this.#options;
    const key = getObjectKey(desired.secret);
    const maintenance = new CertificateMaintenance(this.#options, desired, await this.#ownSecret(desired.secret));
    await maintenance.readTargets();
    for (let i = 0; i < ACTIONS_MAX; i++) {
      if (await maintenance.spread()) trustedSince.set(key, now());
      const state = assessCertificates(maintenance.stored, desired.dnsNames);
      const action = chooseNextAction(state, { now: now(), trustedSince: trustedSince.get(key) ?? 0, times });
      if (action.kind === "rest") {
        await maintenance.adopt();
        const bundle = joinCertificates(maintenance.stored?.authorities ?? []);
        this.trusts.push(...desired.targets.map((target) => ({ target, bundle })));
        return action.at;
      }
      if (action.kind === "issue") await maintenance.issue(action.reason);
      if (action.kind === "prepare") await maintenance.prepare(action.reason);
      if (action.kind === "promote") await maintenance.promote();
      if (action.kind === "trim") await maintenance.trim();
    }
    throw new RetryableError("Retrying", `the certificate is still outdated after ${ACTIONS_MAX} updates`);
  }

  /** Reads the Secret. @throws RetryableError if it has another owner. */
  async #ownSecret(ref: ObjectRef): Promise<KubeObject | undefined> {
    const { client, owner, installNamespace, extensionExists, abandoned, replaced, signal } = this.#options;
    const secret = await client.get(ref, { signal });
    const ownership = determineOwnership(secret, { ...owner, installNamespace }, extensionExists);
    if (ownership.kind !== "foreign" || replaced.has(getObjectKey(ref))) return secret;
    if (!secret || !(await abandoned.contains(secret))) throw new RetryableError("Retrying", ownership.message);
    return secret;
  }
}

/** One certificate during a reconcile: the stored Secret, and the CAs that the targets trust. */
class CertificateMaintenance {
  stored: StoredCertificates | undefined;
  readonly #options: KeeperOptions;
  readonly #desired: DesiredCertificate;
  #secret: KubeObject | undefined;
  #targets: { target: CaTarget; live: KubeObject }[] = [];

  constructor(options: KeeperOptions, desired: DesiredCertificate, secret: KubeObject | undefined) {
    this.#options = options;
    this.#desired = desired;
    this.#secret = secret;
    this.stored = secret && readStoredCertificates(secret);
  }

  async readTargets(): Promise<void> {
    const { client, signal } = this.#options;
    const results = await Promise.all(
      this.#desired.targets.map(async (target) => ({ target, live: await client.get(target.ref, { signal }) })),
    );
    this.#targets = results.flatMap(({ target, live }) => {
      const limited = live && limitTarget(target, live);
      return limited ? [{ target: limited, live }] : [];
    });
  }

  /** Injects the stored CAs into every target, and removes all others. @returns whether a target changed. */
  spread(): Promise<boolean> {
    return this.#trust(this.stored?.authorities ?? []);
  }

  /**
   * Issues a new certificate. Before the Secret changes, the targets trust the new CA in addition to the CAs that Pods may still use. A Secret that the
   * API server would reject, for example because of a quota, changes no target.
   */
  async issue(because: string): Promise<void> {
    const injected = this.#targets.flatMap(({ target, live }) => getCaBundles(live, target).flatMap(parseCertificates));
    const known = [...injected, ...(this.stored?.authorities ?? [])];
    const stored = storeIssued(await this.#issuePair(), known, this.#options.now());
    await this.#tryStore(stored);
    await this.#trust(stored.authorities);
    await this.#store(stored);
    this.#record("CertificateIssued", "issued", because);
  }

  async prepare(because: string): Promise<void> {
    if (!this.stored) return;
    await this.#store(storePrepared(this.stored, await this.#issuePair(), this.#options.now()));
    this.#record("CertificatePrepared", "issued the next certificate; clients now trust its CA", because);
  }

  async promote(): Promise<void> {
    if (!this.stored?.next) return;
    await this.#store(promotePrepared(this.stored));
    this.#record("CertificateRenewed", "renewed: the operator now serves the next certificate; clients trust both CAs");
  }

  async trim(): Promise<void> {
    if (this.stored) await this.#store(dropEndedAuthorities(this.stored, this.#options.now()));
  }

  /**
   * Marks a Secret without controller as the extension's, so that the uninstall deletes it. Its content stays the same. A Secret with another controller is
   * deleted together with it, and then issued again.
   */
  async adopt(): Promise<void> {
    if (this.stored && this.#secret && getControllerUid(this.#secret) === undefined) await this.#store(this.stored);
  }

  async #issuePair(): Promise<NewCertificate> {
    const { issuer, times, now, signal } = this.#options;
    const { host, dnsNames } = this.#desired;
    const task = { host, dnsNames, startsAt: now() - times.skewMs, endsAt: now() + times.validityMs };
    const { authority, certificate, key } = await issuer.issue(task, signal);
    return { authority: authority.trim(), pair: { certificate, key } };
  }

  async #trust(authorities: readonly string[]): Promise<boolean> {
    const { client, signal, log } = this.#options;
    const bundle = joinCertificates(authorities);
    if (bundle === "") return false;
    let changed = false;
    for (const entry of this.#targets) {
      const { target, live } = entry;
      const isOwn = hasApplied(live.metadata, CERTIFICATES_FIELD_MANAGER); // otherwise the next apply of the object would remove the CA bundle
      if (isOwn && getCaBundles(live, target).every((text) => text === bundle)) continue;
      const options = { fieldManager: CERTIFICATES_FIELD_MANAGER, force: true, signal };
      entry.live = await client.apply(withBundle(live, target, bundle), options);
      log.info({ target: describeObject(target.ref), authorities: authorities.length }, "CA injected");
      changed = true;
    }
    return changed;
  }

  /** Runs a dry run of `#store`, unless an admission webhook does not support dry runs. */
  async #tryStore(stored: StoredCertificates): Promise<void> {
    try {
      await this.#applySecret(stored, true);
    } catch (err) {
      if (!isDryRunUnsupported(err)) throw err;
    }
  }

  /** Writes the Secret if it has not changed since it was read. */
  async #store(stored: StoredCertificates): Promise<void> {
    this.#secret = await this.#applySecret(stored, false);
    this.stored = stored;
  }

  #applySecret(stored: StoredCertificates, dryRun: boolean): Promise<KubeObject> {
    const { client, owner, signal } = this.#options;
    const marked = withOwner(toServingSecret(this.#desired.secret, stored), owner);
    const { resourceVersion } = this.#secret?.metadata ?? {};
    const secret = resourceVersion === undefined ? marked : { ...marked, metadata: { ...marked.metadata, resourceVersion } };
    return client.apply(secret, { fieldManager: CERTIFICATES_FIELD_MANAGER, force: true, dryRun, signal });
  }

  #record(reason: CertificateEvent, what: string, because?: string): void {
    const secret = describeObject(this.#desired.secret);
    this.#options.log.info({ secret, reason, because }, "serving certificate changed");
    this.#options.record(reason, `serving certificate in ${secret}: ${what}${because === undefined ? "" : `; ${because}`}`);
  }
}

/** The services that `ExtensionCertificates` needs. */
type CertificateInputs = Pick<
  ApplyServices,
  "certificates" | "memory" | "events" | "now" | "driftIntervalMs" | "extensionExists" | "discovery"
>;

/** The certificates that operator-controller provides for the webhooks and API services of one extension, in one reconcile. */
export class ExtensionCertificates {
  readonly #deps: CertificateInputs;
  readonly #phase: WithClient;
  readonly #context: StepContext;
  #trusts: readonly Trust[] = [];

  constructor(deps: CertificateInputs, phase: WithClient, context: StepContext) {
    this.#deps = deps;
    this.#phase = phase;
    this.#context = context;
  }

  /**
   * Maintains the certificates of a deployed release if they were not checked for this release yet, this reconcile compared or wrote objects, the
   * trusted CAs of a webhook changed, a certificate is due for renewal, or the drift interval is over.
   * @throws RetryableError with the name of the Secret.
   */
  async maintain(release: ReleaseRecord): Promise<void> {
    const { memory, now, certificates: own, driftIntervalMs } = this.#deps;
    const { extension, changes } = this.#phase;
    const known = memory.of(extension).certificates;
    const inMs = known.checkAt - now(); // more than an interval if the clock was set back
    const isDue = known.release !== release.version || changes.began || inMs <= 0 || inMs > driftIntervalMs;
    if (!isDue) own?.enqueueAfter(extension.metadata.name, known.checkAt - now());
    else if (await this.keep(release.objects)) this.noteComplete(release);
  }

  /** Notes that the certificates of a release are complete. */
  noteComplete({ version }: Pick<ReleaseRecord, "version">): void {
    this.#deps.memory.of(this.#phase.extension).certificates.release = version;
  }

  /** Removes the CA from CustomResourceDefinitions that lose their conversion webhook. Call it right before the apply. */
  async withdraw(objects: readonly KubeObject[], live: LiveObjects): Promise<void> {
    for (const object of objects) {
      const found = live.get(getObjectKey(object));
      if (!isConversionLost(object, found)) continue;
      const { signal, log } = this.#context;
      await this.#phase.client.apply(withoutBundle(found), { fieldManager: CERTIFICATES_FIELD_MANAGER, force: true, signal });
      log.info({ target: describeObject(object) }, "CA withdrawn");
    }
  }

  /** Returns `objects` with the CA bundles of the last `keep` in those that do not exist yet, so that they are never without one. */
  addCaBundles(objects: readonly KubeObject[], live: LiveObjects): KubeObject[] {
    return objects.map((object) => {
      const key = getObjectKey(object);
      if (live.has(key)) return object;
      const trusts = this.#trusts.filter(({ target }) => getObjectKey(target.ref) === key);
      return trusts.reduce((trusting, { target, bundle }) => addCaBundle(trusting, target, bundle), object);
    });
  }

  /**
   * Provides the certificates for `objects`, and injects their CAs into objects that already exist. Call it before and after the apply.
   * @returns whether the objects need certificates. @throws RetryableError with the name of the Secret.
   */
  async keep(objects: readonly KubeObject[]): Promise<boolean> {
    const { certificates: own, memory, now, driftIntervalMs, extensionExists, events } = this.#deps;
    const desired = listDesiredCertificates(objects);
    if (!own || desired.length === 0) return false;
    const { extension, releases, client } = this.#phase;
    const { name, uid = "" } = extension.metadata;
    const known = memory.of(extension).certificates;
    const keeper = new CertificateKeeper({
      client,
      issuer: own.issuer,
      times: own.times,
      now,
      owner: { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid },
      installNamespace: getNamespace(extension),
      extensionExists,
      abandoned: new AbandonedObjects(this.#deps.discovery, objects, this.#context.signal),
      replaced: listReplacedSecrets(findLastDeployed(releases.history.current)?.objects ?? []),
      trustedSince: known.trustedSince,
      record: (reason, message) => events.record(extension, "Normal", reason, message),
      signal: this.#context.signal,
      log: this.#context.log,
    });
    const at = await keeper.keep(desired).catch((err: unknown) => {
      delete known.release; // the next `maintain` repeats the check
      throw err;
    });
    this.#trusts = keeper.trusts;
    known.checkAt = Math.min(at, now() + driftIntervalMs);
    own.enqueueAfter(name, Math.max(known.checkAt - now(), 0));
    return true;
  }
}

/** Returns the keys of the Secrets that contain the certificates of a release's Deployments, for every provider. */
function listReplacedSecrets(objects: readonly KubeObject[]): Set<string> {
  const refs = listServedNames(objects).map(({ namespace, certificateName: name }) => ({
    apiVersion: "v1",
    kind: "Secret",
    namespace,
    name,
  }));
  return new Set(refs.map(getObjectKey));
}
