import { createSecureContext, getCiphers } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { refusal } from "../../test/support/extensionFakes.ts";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../test/support/watchedKind.ts";
import { createLogger } from "../telemetry/log.ts";
import { API_SERVER, ClusterTlsSettings, toClusterTlsProfile } from "./clusterTlsProfile.ts";
import { FollowedTls } from "./serverTls.ts";
import { computeTlsSettings } from "./tlsProfile.ts";

interface ProfileCase extends CaseHead {
  spec: Record<string, unknown>;
  want: { minVersion: string; ciphers: number | string[]; source: string };
}

const log = createLogger({ component: "test", level: "silent" });
const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

test.for(loadCases<ProfileCase>("tls-profile"))("$name", ({ spec, want }) => {
  const { name, ...gvk } = API_SERVER;
  const { profile, source } = toClusterTlsProfile({ kind: "present", object: { ...gvk, metadata: { name }, spec } });
  const ciphers = typeof want.ciphers === "number" ? profile.ciphers.length : profile.ciphers;
  expect({ minVersion: profile.minVersion, ciphers, source }).toEqual(want);
  expect(() => createSecureContext(computeTlsSettings(profile, new Set(getCiphers())).settings)).not.toThrow();
});

function follow(kind: WatchedKind) {
  const clock = new FakeClock();
  const settings = new ClusterTlsSettings({ client: kind, log, clock });
  const certificate = { current: { cert: Buffer.from("c"), key: Buffer.from("k") }, onChange: () => () => undefined };
  const tls = new FollowedTls(certificate, settings, log);
  const used: unknown[] = [];
  tls.onChange(({ minVersion }) => used.push(minVersion));
  const ended = new AbortController();
  stop.push(ended);
  void settings.run(ended.signal);
  return { tls, settings, clock, used };
}
const put = (kind: WatchedKind, type: string): unknown =>
  kind.put({ metadata: { name: "cluster" }, spec: { tlsSecurityProfile: { type } } });

test("servers accept connections only when the TLS profile is known, apply changes immediately, and keep the last profile when it cannot be read", async () => {
  const kind = new WatchedKind(API_SERVER);
  put(kind, "Modern");
  const { tls, clock, used } = follow(kind);
  expect(tls.current).toEqual({});
  expect(() => tls.check()).toThrow("has not been read yet");
  await flushPromises();
  expect(tls.current).toMatchObject({ cert: Buffer.from("c"), minVersion: "TLSv1.3" });
  tls.check();
  put(kind, "Old");
  await flushPromises();
  expect(tls.current.minVersion).toBe("TLSv1");
  put(kind, "Modern");
  await flushPromises();
  kind.refusal = refusal(403, "Forbidden", "apiservers is forbidden");
  kind.endWatches(new Error("other side closed"));
  for (let i = 0; i < 5; i++) {
    clock.advance(30_000);
    await flushPromises();
  }
  expect(tls.current.minVersion).toBe("TLSv1.3");
  kind.refusal = undefined;
  for (let i = 0; i < 5; i++) {
    clock.advance(30_000);
    await flushPromises();
  }
  kind.remove("cluster");
  await flushPromises();
  expect([tls.current.minVersion, new Set(used)]).toEqual(["TLSv1.2", new Set(["TLSv1.3", "TLSv1", "TLSv1.2"])]);
});

test("the intermediate profile is used after ten seconds if the API server does not respond", async () => {
  const kind = new WatchedKind(API_SERVER);
  kind.refusal = new Error("connect ECONNREFUSED");
  const { tls, clock } = follow(kind);
  clock.advance(9_000);
  await flushPromises();
  expect(tls.current).toEqual({});
  clock.advance(2_000);
  await flushPromises();
  expect(tls.current.minVersion).toBe("TLSv1.2");
});

test("a cluster other than OpenShift uses the intermediate profile", async () => {
  const kind = new WatchedKind(API_SERVER);
  kind.served = false;
  const { tls } = follow(kind);
  await flushPromises();
  expect(tls.current.minVersion).toBe("TLSv1.2");
});
