import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { parseReference } from "../reference.ts";
import { findApplicable } from "./applicable.ts";
import { CLUSTER_IMAGE_POLICY, IMAGE_POLICY, toImagePolicies } from "./imagePolicies.ts";
import { parsePolicy, parsePolicyRequirement } from "./policyFile.ts";

const DATA = Buffer.from("data").toString("base64");
const OTHER = Buffer.from("other").toString("base64");
const KEY = { policyType: "PublicKey", publicKey: { keyData: DATA } };

function clusterPolicy(name: string, scopes: string[], policy: object = { rootOfTrust: KEY }): KubeObject {
  return { ...CLUSTER_IMAGE_POLICY, metadata: { name }, spec: { scopes, policy } };
}

function imagePolicy(namespace: string, name: string, scopes: string[], policy: object = { rootOfTrust: KEY }): KubeObject {
  return { ...IMAGE_POLICY, metadata: { namespace, name }, spec: { scopes, policy } };
}

// Source: policyItemFromSpec of openshift/machine-config-operator 24d9a767 pkg/controller/container-runtime-config/helpers.go; openshift/api 5886a58a.
describe("an image policy", () => {
  test.for<[what: string, policy: object, want: object]>([
    ["with a key", { rootOfTrust: KEY }, { keyData: DATA }],
    [
      "with a key and a log",
      { rootOfTrust: { policyType: "PublicKey", publicKey: { keyData: DATA, rekorKeyData: OTHER } } },
      { keyData: DATA, rekorPublicKeyData: OTHER },
    ],
    [
      "with Fulcio",
      {
        rootOfTrust: {
          policyType: "FulcioCAWithRekor",
          fulcioCAWithRekor: { fulcioCAData: DATA, rekorKeyData: OTHER, fulcioSubject: { oidcIssuer: "https://i", signedEmail: "a@b.c" } },
        },
      },
      { fulcio: { caData: DATA, oidcIssuer: "https://i", subjectEmail: "a@b.c" }, rekorPublicKeyData: OTHER },
    ],
    [
      "with another authority",
      {
        rootOfTrust: {
          policyType: "PKI",
          pki: { caRootsData: DATA, caIntermediatesData: OTHER, pkiCertificateSubject: { email: "a@b.c", hostname: "h.test" } },
        },
      },
      { pki: { caRootsData: DATA, caIntermediatesData: OTHER, subjectEmail: "a@b.c", subjectHostname: "h.test" } },
    ],
    [
      "for exact names",
      { rootOfTrust: KEY, signedIdentity: { matchPolicy: "MatchRepoDigestOrExact" } },
      { keyData: DATA, signedIdentity: { type: "matchRepoDigestOrExact" } },
    ],
    [
      "for repositories",
      { rootOfTrust: KEY, signedIdentity: { matchPolicy: "MatchRepository" } },
      { keyData: DATA, signedIdentity: { type: "matchRepository" } },
    ],
    [
      "for one repository",
      { rootOfTrust: KEY, signedIdentity: { matchPolicy: "ExactRepository", exactRepository: { repository: "quay.io/ns/app" } } },
      { keyData: DATA, signedIdentity: { type: "exactRepository", dockerRepository: "quay.io/ns/app" } },
    ],
    [
      "for mirrors",
      { rootOfTrust: KEY, signedIdentity: { matchPolicy: "RemapIdentity", remapIdentity: { prefix: "m.test", signedPrefix: "quay.io" } } },
      { keyData: DATA, signedIdentity: { type: "remapIdentity", prefix: "m.test", signedPrefix: "quay.io" } },
    ],
  ])("%s means the same as in policy.json", ([, policy, want]) => {
    const { cluster, problems } = toImagePolicies([clusterPolicy("a", ["quay.io"], policy)], []);
    const requirement = { ...parsePolicyRequirement({ type: "sigstoreSigned", ...want }), origin: 'ClusterImagePolicy "a"' };
    expect([Object.fromEntries(cluster), problems]).toEqual([{ "quay.io": [requirement] }, []]);
  });

  test.for<[what: string, policy: object | undefined, message: string]>([
    ["of an unknown type", { rootOfTrust: { policyType: "Notary" } }, 'policyType "Notary" is not supported'],
    ["without a policy", undefined, 'policyType "" is not supported'],
    ["with an unknown identity", { rootOfTrust: KEY, signedIdentity: { matchPolicy: "Any" } }, 'matchPolicy "Any" is not supported'],
    ["whose key is not base64", { rootOfTrust: { policyType: "PublicKey", publicKey: { keyData: "-" } } }, 'Key "keyData" is not base64'],
    [
      "without a key",
      { rootOfTrust: { policyType: "PublicKey" } },
      "exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio, and pki must be specified",
    ],
    [
      "without a log",
      {
        rootOfTrust: {
          policyType: "FulcioCAWithRekor",
          fulcioCAWithRekor: { fulcioCAData: DATA, fulcioSubject: { oidcIssuer: "https://i", signedEmail: "a@b.c" } },
        },
      },
      "At least one of rekorPublickeyPath, rekorPublicKeyPaths, rekorPublickeyData and rekorPublicKeyDatas must be specified if fulcio is used",
    ],
  ])("%s rejects the images in its scopes, and is reported", ([, policy, message]) => {
    const { cluster, problems } = toImagePolicies(
      [{ ...CLUSTER_IMAGE_POLICY, metadata: { name: "a" }, spec: { scopes: ["quay.io"], policy } }],
      [],
    );
    const origin = 'ClusterImagePolicy "a"';
    expect([cluster.get("quay.io"), problems]).toEqual([
      [{ type: "unsupported", what: message, origin }],
      [{ origin, message, object: expect.anything() as object }],
    ]);
  });

  test("without spec has no effect but a report", () => {
    const { cluster, problems } = toImagePolicies([{ ...CLUSTER_IMAGE_POLICY, metadata: { name: "a" } }], []);
    expect([cluster.size, problems.length]).toEqual([0, 1]);
  });
});

// Source: getValidScopePolicies and updatePolicyJSON of openshift/machine-config-operator 24d9a767 pkg/controller/container-runtime-config.
describe("findApplicable", () => {
  const accept = [{ type: "insecureAcceptAnything" }];
  const reject = [{ type: "reject" }];
  const signed = [{ type: "sigstoreSigned", keyPath: "/key" }];
  const everything = { default: accept };
  const c = 'ClusterImagePolicy "c"';
  const d = 'ClusterImagePolicy "d"';
  const i = 'ImagePolicy "team/i"';

  interface Row {
    what: string;
    file?: object;
    cluster?: Record<string, string[]>;
    team?: Record<string, string[]>;
    namespace?: string;
    want: string[];
  }
  test.for<Row>([
    { what: "uses the default of the file without policies", want: ["insecureAcceptAnything"] },
    { what: "uses a ClusterImagePolicy instead of the default of the file", cluster: { c: ["quay.io"] }, want: [c] },
    {
      what: "uses a ClusterImagePolicy although the file rejects by default",
      file: { default: reject },
      cluster: { c: ["quay.io"] },
      want: [c],
    },
    { what: "uses a ClusterImagePolicy for subdomains", cluster: { c: ["*.io"] }, want: [c] },
    { what: "uses a ClusterImagePolicy whose host is in upper case", cluster: { c: ["QUAY.IO/ns"] }, want: [c] },
    { what: "ignores a ClusterImagePolicy for other images", cluster: { c: ["quay.io/other"] }, want: ["insecureAcceptAnything"] },
    { what: "uses the most specific ClusterImagePolicy", cluster: { c: ["quay.io"], d: ["quay.io/ns"] }, want: [d] },
    { what: "uses all ClusterImagePolicies of a scope", cluster: { c: ["quay.io"], d: ["quay.io"] }, want: [c, d] },
    {
      what: "uses a more specific scope of the file",
      file: { ...everything, transports: { docker: { "quay.io/ns": accept } } },
      cluster: { c: ["quay.io"] },
      want: ["insecureAcceptAnything"],
    },
    {
      what: "uses a more specific ClusterImagePolicy than the file",
      file: { ...everything, transports: { docker: { "quay.io": reject } } },
      cluster: { c: ["quay.io/ns"] },
      want: [c],
    },
    {
      what: "uses both for the same scope",
      file: { ...everything, transports: { docker: { "quay.io": signed } } },
      cluster: { c: ["quay.io"] },
      want: ["sigstoreSigned", c],
    },
    {
      what: "uses a ClusterImagePolicy instead of the default of the transport",
      file: { ...everything, transports: { docker: { "": reject } } },
      cluster: { c: ["quay.io"] },
      want: [c],
    },
    { what: "adds an ImagePolicy to the default", team: { i: ["quay.io"] }, namespace: "team", want: ["insecureAcceptAnything", i] },
    { what: "ignores an ImagePolicy of another namespace", team: { i: ["quay.io"] }, namespace: "other", want: ["insecureAcceptAnything"] },
    { what: "ignores an ImagePolicy without a namespace", team: { i: ["quay.io"] }, want: ["insecureAcceptAnything"] },
    {
      what: "ignores an ImagePolicy in the scope of a ClusterImagePolicy",
      cluster: { c: ["quay.io"] },
      team: { i: ["quay.io/ns"] },
      namespace: "team",
      want: [c],
    },
    {
      what: "ignores an ImagePolicy in the same scope as a ClusterImagePolicy",
      cluster: { c: ["quay.io"] },
      team: { i: ["quay.io"] },
      namespace: "team",
      want: [c],
    },
    {
      what: "ignores an ImagePolicy in a scope of the file",
      file: { ...everything, transports: { docker: { "quay.io": signed } } },
      team: { i: ["quay.io/ns"] },
      namespace: "team",
      want: ["sigstoreSigned"],
    },
    {
      what: "never accepts with an ImagePolicy what the default rejects",
      file: { default: reject },
      team: { i: ["quay.io"] },
      namespace: "team",
      want: ["reject", i],
    },
  ])("findApplicable $what", ({ file = everything, cluster = {}, team = {}, namespace, want }) => {
    const policies = toImagePolicies(
      Object.entries(cluster).map(([name, scopes]) => clusterPolicy(name, scopes)),
      Object.entries(team).map(([name, scopes]) => imagePolicy("team", name, scopes)),
    );
    const { requirements } = findApplicable(parsePolicy(JSON.stringify(file)), parseReference("quay.io/ns/app:v1"), policies, namespace);
    expect(requirements.map(({ type, origin }) => origin ?? type)).toEqual(want);
  });
});
