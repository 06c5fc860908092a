import { expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import type { ListResult } from "../kube/request.ts";
import { previewEject } from "./ejectPreview.ts";

test("previewEject names the Secret when a release cannot be read", async () => {
  const extension: KubeObject = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: "shop", uid: "1" }, spec: {} };
  const secret: KubeObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "sh.helm.release.v1.shop.v1", labels: { version: "x" } },
  };
  const client: Pick<Client, "get" | "list"> = {
    get: <T extends KubeObject>() => Promise.resolve(extension as T),
    list: <T extends KubeObject>({ apiVersion, kind }: GroupVersionKind): Promise<ListResult<T>> =>
      kind === "Secret"
        ? Promise.resolve({ items: [secret as T], resourceVersion: "1" })
        : Promise.reject(new KindNotServed(apiVersion, kind)),
  };
  await expect(previewEject(client as Client, "shop", "s", AbortSignal.timeout(60_000))).rejects.toThrow(
    /^cannot eject: release secret "sh\.helm\.release\.v1\.shop\.v1" /,
  );
});
