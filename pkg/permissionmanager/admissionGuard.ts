import { PERMISSION_ADMISSION_POLICIES, PERMISSION_MANAGER_POLICY } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { Clock } from "../async/clock.ts";
import { getErrorMessage, RetryableError } from "../errors/errors.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { findDenyingPolicy, isInvalid } from "../kube/errors.ts";

/** How long a check is valid, in milliseconds. */
const VALID_MS = 60_000;
const ADMISSION = "admissionregistration.k8s.io/v1";
/** An object that config/permissions/admission.yaml does not let permission-manager create. Only used in dry runs. */
const FORBIDDEN = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "olmv1-admission-check" },
  rules: [],
};

/**
 * Checks that the admission policies are in force, because RBAC permissions alone would let this program write any role, and others use the roles of
 * extensions.
 */
export class AdmissionGuard {
  readonly #client: Pick<Client, "create" | "get">;
  readonly #clock: Clock;
  #checkedAt: number | undefined;

  constructor(client: Pick<Client, "create" | "get">, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Returns if all policies deny requests, and one of them limits this program. A successful check is valid for a minute.
   * @throws RetryableError Retrying if they do not; KubeError if the API server cannot be asked
   */
  async check(signal: AbortSignal): Promise<void> {
    if (this.#checkedAt !== undefined && this.#clock.now() - this.#checkedAt < VALID_MS) return;
    this.#checkedAt = undefined;
    const problems = await Promise.all(PERMISSION_ADMISSION_POLICIES.map((name) => this.#findProblem(name, signal)));
    const problem = problems.find((found) => found !== undefined) ?? (await this.#tryForbidden(signal));
    if (problem !== undefined)
      throw new RetryableError(
        "Retrying",
        `${problem}, so permission-manager grants nothing. Apply the manifests or the chart of olmv1 again`,
      );
    this.#checkedAt = this.#clock.now();
  }

  /** Returns why a policy is not in force; undefined if it is. */
  async #findProblem(name: string, signal: AbortSignal): Promise<string | undefined> {
    const get = (kind: string): Promise<KubeObject | undefined> => this.#client.get({ apiVersion: ADMISSION, kind, name }, { signal });
    const [policy, binding] = await Promise.all([get("ValidatingAdmissionPolicy"), get("ValidatingAdmissionPolicyBinding")]);
    const isFailing = getSpec(policy)["failurePolicy"] === "Fail";
    const { policyName, validationActions } = getSpec(binding);
    const isDenying = policyName === name && Array.isArray(validationActions) && validationActions.includes("Deny");
    if (isFailing && isDenying) return undefined;
    return `ValidatingAdmissionPolicy ${goQuote(name)} or its binding does not exist or does not deny requests`;
  }

  /** Tries to create an object that the policy of this program forbids. @returns why the policy does not limit this program; undefined if it does */
  async #tryForbidden(signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#client.create(FORBIDDEN, { dryRun: true, signal });
    } catch (err) {
      if (findDenyingPolicy(err) === PERMISSION_MANAGER_POLICY) return undefined;
      if (!isInvalid(err)) throw err;
      return `cannot verify that ValidatingAdmissionPolicy ${goQuote(PERMISSION_MANAGER_POLICY)} limits permission-manager (${getErrorMessage(err)})`;
    }
    return `ValidatingAdmissionPolicy ${goQuote(PERMISSION_MANAGER_POLICY)} does not limit permission-manager`;
  }
}

function getSpec(object: KubeObject | undefined): Record<string, unknown> {
  const spec = object?.["spec"];
  return isObject(spec) ? spec : {};
}
