import { expect, test } from "vitest";
import cases from "../../../test/cases/oci/proxy.json" with { type: "json" };
import { getProxyFor } from "./proxy.ts";

test.for(cases.cases)("getProxyFor $url with NO_PROXY=$noProxy returns a proxy: $proxied", ({ url, noProxy, proxied }) => {
  const env = { HTTP_PROXY: "http://proxy:3128", HTTPS_PROXY: "http://proxy:3128", NO_PROXY: noProxy };
  expect(getProxyFor(new URL(url), env) !== undefined).toBe(proxied);
});

test.for<[string, NodeJS.ProcessEnv, string | undefined]>([
  ["https://r.io/", { HTTPS_PROXY: "http://p:1" }, "http://p:1/"],
  ["https://r.io/", { https_proxy: "p:1" }, "http://p:1/"],
  ["https://r.io/", { HTTP_PROXY: "http://p:1" }, undefined],
  ["http://r.io/", { HTTP_PROXY: "http://u:s@p:1" }, "http://u:s@p:1/"],
  ["https://r.io/", { HTTPS_PROXY: "", https_proxy: "http://p:2" }, "http://p:2/"],
  ["https://r.io/", {}, undefined],
])("getProxyFor %s with %o returns %s", ([url, env, want]) => {
  expect(getProxyFor(new URL(url), env)?.href).toBe(want);
});
