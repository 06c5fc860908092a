import { open } from "node:fs/promises";
import type { AuditEvent } from "../support/cluster.ts";

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection"]);
/** Requests that create nothing, and the renewal of Leases. */
const NOT_WRITES = /^(leases|(self)?subject\w+|\w+reviews)$/;

/** Returns the writes of ServiceAccounts in an audit log from a byte offset on, as "user verb resource name". */
export async function readWrites(auditLog: string, offset: number): Promise<string[]> {
  const file = await open(auditLog);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(size - offset), 0, size - offset, offset);
    return listWrites(buffer.toString("utf8", 0, buffer.lastIndexOf("\n") + 1));
  } finally {
    await file.close();
  }
}

/** @param lines of an audit log, each an event of level Metadata */
export function listWrites(lines: string): string[] {
  return lines
    .split("\n")
    .filter((line) => line.includes('"username":"system:serviceaccount:') && !line.includes(":kube-system:"))
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ verb, requestURI, objectRef }) => {
      const { resource = "", subresource } = objectRef ?? {};
      return WRITES.has(verb) && !requestURI.includes("dryRun=All") && !NOT_WRITES.test(resource) && subresource !== "token";
    })
    .map(({ user, verb, objectRef }) => `${user.username} ${verb} ${objectRef?.resource} ${objectRef?.name ?? ""}`);
}
