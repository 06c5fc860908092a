import { API_VERSION, CERTIFICATES_FIELD_MANAGER, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { losesConversion, withoutBundle } from "../../certificates/caBundle.ts";
import type { CertificateTimes } from "../../certificates/rotation.ts";
import { wantedCertificates } from "../../certificates/wantedCertificates.ts";
import type { StepContext } from "../../controller/reconcile.ts";
import type { Client } from "../../kube/client.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import type { ExtensionExists } from "../../release/ownership.ts";
import { lastDeployed, type ReleaseRecord } from "../../release/record.ts";
import { servedNames } from "../../certificates/providers.ts";
import type { CertificateIssuer } from "../../serving/certificateIssuer.ts";
import type { LiveObjects } from "../apply/applier.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";
import { CertificateKeeper } from "./certificateKeeper.ts";

/** What providing certificates needs from the outside. */
export interface CertificateDependencies {
  issuer: CertificateIssuer;
  times: CertificateTimes;
  /** Asks for a pass over an extension, in so many milliseconds. */
  wake: (extension: string, inMs: number) => void;
}

/** What a pass has that provides certificates. */
interface PassParts {
  certificates?: CertificateDependencies;
  memory: ExtensionMemory;
  events: EventSink;
  now: () => number;
  driftIntervalMs: number;
  extensionExists: ExtensionExists;
}

/** The certificates that operator-controller provides for the webhooks and API services of one extension, in one pass. */
export class ExtensionCertificates {
  readonly #deps: PassParts;
  readonly #facts: PassFacts;
  readonly #scoped: Client;
  readonly #context: StepContext<PassFacts["extension"]>;

  constructor(deps: PassParts, facts: PassFacts, scoped: Client, context: StepContext<PassFacts["extension"]>) {
    this.#deps = deps;
    this.#facts = facts;
    this.#scoped = scoped;
    this.#context = context;
  }

  /**
   * Looks after the certificates of a deployed release, if one of these holds: it was not done for this release yet, objects were compared
   * or written in this pass, something was seen of what webhooks trust, a certificate is to be renewed, or the drift interval is up.
   * @throws RetryableError that names the Secret.
   */
  async maintain(release: ReleaseRecord): Promise<void> {
    const { memory, now, certificates: own, driftIntervalMs } = this.#deps;
    const { extension, began } = this.#facts;
    const known = memory.of(extension).certificates;
    const inMs = known.checkAt - now(); // more than an interval after the clock was put back
    const isDue = known.release !== release.version || began || inMs <= 0 || inMs > driftIntervalMs;
    if (!isDue) own?.wake(extension.metadata.name, known.checkAt - now());
    else if (await this.keep(release.objects)) this.kept(release);
  }

  /** Tells that everything a release needs is there. */
  kept({ version }: Pick<ReleaseRecord, "version">): void {
    this.#deps.memory.of(this.#facts.extension).certificates.release = version;
  }

  /** Gives up the CA in what is to lose its conversion webhook, right before that is applied. */
  async withdraw(objects: readonly KubeObject[], live: LiveObjects): Promise<void> {
    for (const object of objects) {
      const found = live.get(objectKey(object));
      if (!losesConversion(object, found)) continue;
      const { signal, log } = this.#context;
      await this.#scoped.apply(withoutBundle(found), { fieldManager: CERTIFICATES_FIELD_MANAGER, force: true, signal });
      log.info({ target: describeObject(object) }, "CA withdrawn");
    }
  }

  /**
   * Makes what `objects` need, and tells what is there of them whom to trust; before they are applied and after it.
   * @returns whether they need anything. @throws RetryableError that names the Secret.
   */
  async keep(objects: readonly KubeObject[]): Promise<boolean> {
    const { certificates: own, memory, now, driftIntervalMs, extensionExists, events } = this.#deps;
    const wanted = wantedCertificates(objects);
    if (!own || wanted.length === 0) return false;
    const { extension, history } = this.#facts;
    const { name, uid = "" } = extension.metadata;
    const known = memory.of(extension).certificates;
    const keeper = new CertificateKeeper({
      client: this.#scoped,
      issuer: own.issuer,
      times: own.times,
      now,
      owner: { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid },
      installNamespace: extension.spec.namespace,
      extensionExists,
      replaced: replacedSecrets(lastDeployed(history.current)?.objects ?? []),
      trustedSince: known.trustedSince,
      tell: (reason, message) => events.record(extension, "Normal", reason, message),
      signal: this.#context.signal,
      log: this.#context.log,
    });
    const at = await keeper.keep(wanted);
    known.checkAt = Math.min(at, now() + driftIntervalMs);
    own.wake(name, Math.max(known.checkAt - now(), 0));
    return true;
  }
}

/** Keys of the Secrets that the Deployments of a release take their certificate from, whoever provides it. */
function replacedSecrets(objects: readonly KubeObject[]): Set<string> {
  const refs = servedNames(objects).map(({ namespace, certificateName: name }) => ({ apiVersion: "v1", kind: "Secret", namespace, name }));
  return new Set(refs.map(objectKey));
}
