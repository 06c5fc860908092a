import { expect, test } from "vitest";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import { createLogger } from "../../telemetry/log.ts";
import { SecretAuthorities } from "./certificateAuthorities.ts";

const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const log = createLogger({ component: "test", level: "silent" });

test("SecretAuthorities returns the CAs in the current Secret, and keeps them when the Secret is deleted or contains none", async () => {
  const secrets = new WatchedKind({ apiVersion: "v1", kind: "Secret" });
  const authorities = new SecretAuthorities({ client: secrets, namespace: "ns", name: "cert", log });
  const stop = new AbortController();
  const running = authorities.run(stop.signal);
  const first = await authorities.current();
  expect(first.certificates).toEqual([]);
  const put = async (data?: Record<string, string>): Promise<void> => {
    secrets.put({ metadata: { name: "cert", namespace: "ns" }, ...(data ? { data } : {}) });
    await flushPromises();
  };
  await put({ "ca.crt": base64(`${pem("AAAA")}\n`), "tls.key": base64("secret") });
  const second = await authorities.current();
  expect([second.certificates, second.fingerprint === first.fingerprint]).toEqual([[pem("AAAA")], false]);
  await put({ "ca.crt": base64(`${pem("AAAA")}\n${pem("BBBB")}\n`) });
  const third = await authorities.current();
  expect(third.certificates).toEqual([pem("AAAA"), pem("BBBB")]);
  await put({ "ca.crt": base64("nonsense") });
  await put();
  secrets.remove("cert");
  await flushPromises();
  expect(await authorities.current()).toBe(third);
  stop.abort();
  await running;
});
