import { expect, test } from "vitest";
import { CLUSTER_IMAGE_POLICY, toImagePolicies } from "../oci/policy/imagePolicies.ts";
import { parsePolicy } from "../oci/policy/policyFile.ts";
import { needsSignature } from "./signatureDemand.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const SIGNED = { type: "sigstoreSigned", keyPath: "/keys/a.pub" };
const FILE = {
  default: [{ type: "insecureAcceptAnything" }],
  transports: {
    docker: { "quay.io/signed": [SIGNED], "quay.io/signed/free": [{ type: "insecureAcceptAnything" }], "quay.io/no": [{ type: "reject" }] },
  },
};
const POLICY = {
  ...CLUSTER_IMAGE_POLICY,
  metadata: { name: "vendor" },
  spec: { scopes: ["registry.example.com/vendor"], policy: { rootOfTrust: { policyType: "PublicKey", publicKey: { keyData: "a2V5" } } } },
};

test.each([
  { image: `quay.io/signed/app@${DIGEST}`, needs: true, when: "a scope of the file requires a signature" },
  { image: `quay.io/signed/free@${DIGEST}`, needs: false, when: "a more specific scope accepts everything" },
  { image: `quay.io/other/app:v1`, needs: false, when: "only the default applies" },
  { image: `quay.io/no/app:v1`, needs: false, when: "the image is rejected regardless of signatures" },
  { image: `registry.example.com/vendor/app:v1`, needs: true, when: "a ClusterImagePolicy requires a signature" },
  { image: "not an image", needs: false, when: "the reference is invalid" },
])("needsSignature returns $needs when $when", ({ image, needs }) => {
  const demand = { file: parsePolicy(JSON.stringify(FILE)), policies: toImagePolicies([POLICY], []) };
  expect(needsSignature(demand, image)).toBe(needs);
});
