import { createServer, type Server } from "node:net";

/**
 * Kills the command when standard input closes. Background jobs of a shell do not inherit standard
 * input, so descriptor 3 is used. The watching job redirects its output, because otherwise it would
 * keep the command's output open.
 */
const GUARD_SCRIPT = `exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{ cat <&3 >/dev/null; kill -KILL "$child"; } >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$child"
status=$?
kill "$watch" 2>/dev/null
exit $status`;

/**
 * Returns a command line that runs `command` and ends it when standard input closes, for programs that do not do this themselves. Start it with a
 * pipe as standard input and keep the pipe open: the kernel closes it when this process ends.
 */
export function buildGuardCommand(command: string, args: readonly string[]): [command: string, args: string[]] {
  return ["/bin/sh", ["-c", GUARD_SCRIPT, "guard", command, ...args]];
}

/** Returns `count` different free ports on 127.0.0.1. Another process may take a port before it is used; in that case the caller must retry. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listening));
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("reserve a port: the server has no address");
    return address.port;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listening(): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}
