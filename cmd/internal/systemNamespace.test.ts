import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { systemNamespaceFlag } from "./flags.ts";

// Source: C-04, I-30.
test("systemNamespaceFlag defaults to the namespace of the Pod, or outside of a Pod to the namespace in the manifests", () => {
  using folder = new TempFolder();
  const inPod = systemNamespaceFlag("where", join(folder.write("pod", { namespace: "openshift-catalogd\n" }), "namespace"));
  expect([inPod.parse("given"), inPod.parse(undefined), inPod.parse("")]).toEqual(["given", "openshift-catalogd", "openshift-catalogd"]);
  expect(systemNamespaceFlag("where", join(folder.path, "absent")).parse(undefined)).toBe("olmv1-system");
});
