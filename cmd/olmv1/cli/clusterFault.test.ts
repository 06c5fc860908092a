import { expect, test } from "vitest";
import { messageOf, wrapError } from "../../../pkg/errors/errors.ts";
import { KindNotServed, KubeError } from "../../../pkg/kube/errors.ts";
import { clusterFault } from "./cluster.ts";

const HOST = "api.example.com:6443";
const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const refused = coded("ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:6443");
const answer = (status: number, message: string): KubeError => new KubeError(message, { status, reason: "" });
const forbidden = answer(403, 'secrets is forbidden: User "jane" cannot list resource "secrets"');

test.for<[what: string, err: unknown, unanswered: string | undefined, text: string | RegExp]>([
  [
    "no API server",
    wrapError("list ClusterCatalogs: ", refused),
    HOST,
    "list ClusterCatalogs: connect ECONNREFUSED 10.0.0.1:6443: the API server at api.example.com:6443 gives no answer; does it run, and is this its address?; --kubeconfig and --context choose another cluster",
  ],
  [
    "a certificate of an authority that nobody knows",
    coded(
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "unable to verify the first certificate; if the root CA is installed locally, try --use-system-ca",
    ),
    HOST,
    /^unable to verify the first certificate: the certificate of the API server at api\.example\.com:6443 is by no authority that the kubeconfig names/,
  ],
  [
    "an expired certificate",
    coded("CERT_HAS_EXPIRED", "certificate has expired"),
    HOST,
    /has expired: somebody has to renew it; --kubeconfig/,
  ],
  [
    "credentials that are not known",
    answer(401, "Unauthorized"),
    undefined,
    /^Unauthorized: .* log in again, or choose others with --context$/,
  ],
  [
    "a right that is missing",
    wrapError("read it: ", forbidden),
    undefined,
    /^read it: secrets is .*; ask whoever administers the cluster for this right/,
  ],
  [
    "a cluster without OLM v1",
    new KindNotServed("olm.operatorframework.io/v1", "ClusterExtension"),
    undefined,
    /: OLM v1 is not installed on this cluster; /,
  ],
])("what to do about %s is told", ([, err, unanswered, text]) => {
  const told = clusterFault(err, unanswered);
  expect(messageOf(told)).toMatch(text);
  expect((told as Error).cause).toBe(err);
});

test.for<[what: string, err: unknown, unanswered?: string]>([
  ["of a registry that gives no answer", refused],
  ["of another kind that is not served", new KindNotServed("example.com/v1", "Thing")],
  ["that says what to do already", new Error(`${forbidden.message}; grant it`, { cause: forbidden })],
  ["of an admission policy", answer(403, 'things "x" is forbidden: ValidatingAdmissionPolicy denied request: no')],
  ["of the command itself", new Error("x"), HOST],
])("an error %s is left as it is", ([, err, unanswered]) => {
  expect(clusterFault(err, unanswered)).toBe(err);
});
