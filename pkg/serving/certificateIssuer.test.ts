import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { assessCertificates } from "../certificates/rotation.ts";
import { ThreadIssuer } from "./certificateIssuer.ts";

const HOST = `${"a".repeat(63)}-service.ns`;
const STARTS = Date.UTC(2026, 0, 1);
const ENDS = Date.UTC(2027, 11, 31);
const TASK = { host: HOST, dnsNames: [HOST, `${HOST}.svc`, `${HOST}.svc.cluster.local`], startsAt: STARTS, endsAt: ENDS };

test("ThreadIssuer issues a CA and one certificate for the names of a Service, with the given validity", async () => {
  const { authority, certificate, key } = await new ThreadIssuer().issue(TASK, new AbortController().signal);
  const [root, leaf] = [new X509Certificate(authority), new X509Certificate(certificate)];
  expect([root.ca, leaf.ca]).toEqual([true, false]);
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(leaf.subjectAltName).toBe(TASK.dnsNames.map((name) => `DNS:${name}`).join(", "));
  const stored = { serving: { certificate, key }, authorities: [authority] };
  expect(assessCertificates(stored, TASK.dnsNames)).toEqual({ serving: { startsAt: STARTS, endsAt: ENDS }, authorityEnds: [ENDS] });
});

test("ThreadIssuer gives each CA another subject, and assessCertificates reports missing or mismatched parts", async () => {
  const issuer = new ThreadIssuer();
  const { signal } = new AbortController();
  const [one, other] = await Promise.all([issuer.issue(TASK, signal), issuer.issue(TASK, signal)]);
  expect(new X509Certificate(one.authority).subject).not.toBe(new X509Certificate(other.authority).subject);
  const serving = { certificate: one.certificate, key: one.key };
  const fault = (stored: Parameters<typeof assessCertificates>[0], names = TASK.dnsNames) => assessCertificates(stored, names)?.serving;
  expect(fault({ serving, authorities: [other.authority] })).toEqual({
    fault: "the certificate was not signed by a stored authority",
  });
  expect(fault({ serving: { ...serving, key: other.key }, authorities: [one.authority] })).toEqual({
    fault: "the key does not match the certificate",
  });
  expect(fault({ serving, authorities: [one.authority] }, ["b.ns.svc"])).toEqual({ fault: "the certificate is not valid for b.ns.svc" });
  expect(fault({ serving: { certificate: "", key: "" }, authorities: ["-----"] })).toEqual({ fault: "the certificate cannot be parsed" });
  expect(
    assessCertificates({ serving, next: { certificate: other.certificate, key: other.key }, authorities: ["-----", one.authority] }, []),
  ).toEqual({
    serving: { startsAt: STARTS, endsAt: ENDS },
    next: { fault: "the certificate was not signed by a stored authority" },
    authorityEnds: [Number.NEGATIVE_INFINITY, ENDS],
  });
});

test("ThreadIssuer throws when its signal aborts", async () => {
  const stop = new AbortController();
  stop.abort(new Error("stopped"));
  await expect(new ThreadIssuer().issue(TASK, stop.signal)).rejects.toThrow("stopped");
});
