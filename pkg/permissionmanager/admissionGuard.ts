import type { Clock } from "../async/clock.ts";
import { RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isInvalid } from "../kube/errors.ts";

/** How long a check is valid, in milliseconds. */
const VALID_MS = 60_000;
/** An object that config/permissions/admission.yaml does not let permission-manager create. Only used in dry runs. */
const FORBIDDEN = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "olmv1-admission-check" },
  rules: [],
};

/** Checks that the admission policies limit this program, because its RBAC permissions alone would let it write any role. */
export class AdmissionGuard {
  readonly #client: Pick<Client, "create">;
  readonly #clock: Clock;
  #checkedAt: number | undefined;

  constructor(client: Pick<Client, "create">, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Returns if the admission policies limit this program. A successful check is valid for a minute.
   * @throws RetryableError Retrying if they do not; KubeError if the API server cannot be asked
   */
  async check(signal: AbortSignal): Promise<void> {
    if (this.#checkedAt !== undefined && this.#clock.now() - this.#checkedAt < VALID_MS) return;
    this.#checkedAt = undefined;
    try {
      await this.#client.create(FORBIDDEN, { dryRun: true, signal });
    } catch (err) {
      if (!isInvalid(err)) throw err;
      this.#checkedAt = this.#clock.now();
      return;
    }
    throw new RetryableError(
      "Retrying",
      "no ValidatingAdmissionPolicy limits permission-manager, so it grants nothing: apply config/permissions/admission.yaml",
    );
  }
}
