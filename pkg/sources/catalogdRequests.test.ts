import { expect, test } from "vitest";
import { LoopbackApi } from "../../test/support/loopbackApi.ts";
import { Client } from "../kube/client.ts";
import { CatalogConnections } from "../operatorcontroller/catalogs/catalogConnections.ts";
import { locateCatalogd, ServiceProxyRequests, ServiceRequests } from "./catalogdRequests.ts";

const TOKEN = "secret-token";
const SERVICE = { kind: "service", service: "catalogd-service", namespace: "olmv1-system" };

test.for<[url: string, place: object | undefined]>([
  ["https://catalogd-service.olmv1-system.svc/catalogs/a", { ...SERVICE, port: "443" }],
  ["https://catalogd-service.olmv1-system.svc.cluster.local/catalogs/a", { ...SERVICE, port: "443" }],
  ["https://catalogd-service.olmv1-system.svc:8443/catalogs/a", { ...SERVICE, port: "8443" }],
  ["http://catalogd-service.olmv1-system.svc/catalogs/a", { ...SERVICE, port: "80" }],
  ["http://127.0.0.1:8080/catalogs/a.b-c_d~e", { kind: "loopback" }],
  ["https://[::1]:8443/catalogs/a", { kind: "loopback" }],
  ["https://catalogd-service.olmv1-system.svc.example.com/catalogs/a", undefined],
  ["https://catalogd-service.olmv1-system.pod/catalogs/a", undefined],
  ["https://a.b.c.svc/catalogs/a", undefined],
  ["https://catalogs.example.com/catalogs/a", undefined],
  ["http://169.254.169.254/latest/meta-data", undefined],
  ["ftp://catalogd-service.olmv1-system.svc/catalogs/a", undefined],
  ["file:///etc/passwd", undefined],
  ["https://user:password@catalogd-service.olmv1-system.svc/catalogs/a", undefined],
  ["https://catalogd-service.olmv1-system.svc/catalogs/a?next=", undefined],
  ["https://catalogd-service.olmv1-system.svc/catalogs/a#", { ...SERVICE, port: "443" }],
  ["https://catalogd-service.olmv1-system.svc/catalogs/a#/b", undefined],
  ["https://catalogd-service.olmv1-system.svc/catalogs/..%2f..%2fapi", undefined],
  ["https://catalogd-service.olmv1-system.svc/catalogs/a%00", undefined],
])("locateCatalogd finds out where catalogd is when its address is %s", ([url, place]) => {
  expect(locateCatalogd(new URL(url))).toEqual(place);
});

/** Where the console runs, and where its API server seems to be. */
type Where = "in the cluster" | "on the machine of the cluster" | "on a laptop";

/** Sends a request for each URL. Returns the requests that the API server, and another server, received. */
async function send(where: Where, ...urls: string[]) {
  await using api = await LoopbackApi.start(() => ({ text: "api" }));
  await using other = await LoopbackApi.start(() => ({ text: "other" }));
  const client = Client.of(api.credentials({ token: TOKEN }));
  const direct = new CatalogConnections({ env: { HTTP_PROXY: other.url } });
  const server = where === "on a laptop" ? "https://api.example.com:6443" : api.url;
  const requests = where === "in the cluster" ? new ServiceRequests(direct) : new ServiceProxyRequests(client, direct, server);
  const outcomes: (number | string)[] = [];
  try {
    for (const url of urls) {
      const target = new URL(url.replace("LOOPBACK", other.url));
      const outcome = requests.get(target, AbortSignal.timeout(10_000), { "accept-encoding": "gzip" }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode;
        },
        (err: Error) => err.message,
      );
      outcomes.push(await outcome);
    }
    return { outcomes, api: api.requests, other: other.requests };
  } finally {
    await requests.close();
    await client.close();
  }
}

test("ServiceProxyRequests sends requests for Services to the API server, with the user's token", async () => {
  const { outcomes, api, other } = await send(
    "on a laptop",
    "https://catalogd-service.olmv1-system.svc/catalogs/a/api/v1/all",
    "http://catalogd.other.svc:8080/catalogs/a/findings",
  );
  expect([outcomes, other]).toEqual([[200, 200], []]);
  expect(api.map(({ url }) => url)).toEqual([
    "/api/v1/namespaces/olmv1-system/services/https:catalogd-service:443/proxy/catalogs/a/api/v1/all",
    "/api/v1/namespaces/other/services/catalogd:8080/proxy/catalogs/a/findings",
  ]);
  expect(api[0]?.headers).toMatchObject({
    authorization: `Bearer ${TOKEN}`,
    accept: "application/jsonl",
    "accept-encoding": "gzip",
  });
});

test("ServiceProxyRequests sends requests for this machine directly, without the user's token, when the API server is on it", async () => {
  const { outcomes, api, other } = await send("on the machine of the cluster", "LOOPBACK/catalogs/a/api/v1/all");
  expect([outcomes, api]).toEqual([[200], []]);
  expect(other.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test("ServiceRequests sends requests for Services through the proxy of the environment, without a token", async () => {
  const { api, other } = await send("in the cluster", "http://catalogd-service.olmv1-system.svc/catalogs/a/api/v1/all");
  expect(api).toEqual([]);
  expect(other.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test.for<[where: Where, url: string]>([
  ["on a laptop", "https://catalogs.example.com/catalogs/a"],
  ["on a laptop", "LOOPBACK/catalogs/a"],
  ["on a laptop", "http://169.254.169.254/catalogs/a"],
  ["on the machine of the cluster", "http://169.254.169.254/catalogs/a"],
  ["in the cluster", "https://catalogs.example.com/catalogs/a"],
  ["in the cluster", "LOOPBACK/catalogs/a"],
  ["in the cluster", "http://169.254.169.254/catalogs/a"],
])("requests to catalogd %s are not sent when the address is %s", async ([where, url]) => {
  const { outcomes, api, other } = await send(where, url);
  expect([outcomes, api, other]).toEqual([[expect.stringContaining("does not read catalogs from")], [], []]);
});
