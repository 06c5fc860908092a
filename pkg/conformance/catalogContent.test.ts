import { expect, test } from "vitest";
import { findFreePorts } from "../devcluster/processes.ts";
import { ClusterContentReader } from "./catalogContent.ts";

test("ClusterContentReader reports the address and the reason when it cannot connect", async () => {
  const [port] = await findFreePorts(1);
  const reader = new ClusterContentReader({ request: () => Promise.reject(new Error("not used")) });
  const request = { path: "/api/v1/all", method: "GET", headers: {} };
  await expect(reader.read(`http://127.0.0.1:${port}/catalogs/x`, request, AbortSignal.timeout(10_000))).rejects.toThrow(
    `cannot read http://127.0.0.1:${port}/catalogs/x/api/v1/all: connect ECONNREFUSED 127.0.0.1:${port}`,
  );
});
