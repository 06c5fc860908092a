import * as z from "zod/mini";
import { LOG_LIMITS, type ObjectView } from "../../consoleapi/objects.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { type ConsoleRoutes, ObjectName } from "../http/requestInput.ts";
import { readObjectView } from "./objectView.ts";
import { PodLogs } from "./podLog.ts";

const TIMEOUT_MS = 20_000;

/** A name of any kind of object: RBAC allows more characters than other kinds. */
const AnyName = z.string().check(z.maxLength(253), z.regex(/^(?!\.\.?$)[^/%\p{C}]+$/u));
const ObjectQuery = z.object({
  apiVersion: z.string().check(z.maxLength(320), z.regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[a-z0-9]+$/)),
  kind: z.string().check(z.maxLength(63), z.regex(/^[A-Za-z][A-Za-z0-9]*$/)),
  namespace: z.optional(ObjectName),
  name: AnyName,
});
const Flag = z.optional(z.enum(["true", "false"]));
const LogQuery = z.object({
  container: z.string().check(z.maxLength(63), z.regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)),
  previous: Flag,
  follow: Flag,
  tail: z.optional(z.string().check(z.regex(/^\d{1,5}$/))),
});

/** Registers the routes of single objects and of the logs of Pods. Each needs the user's own permission. A log holds the identity while it is open. */
export function registerObjectRoutes(server: ConsoleRoutes, { callers, log }: ConsoleContext): void {
  const logs = new PodLogs();

  server.route({
    method: "GET",
    url: "/api/objects",
    schema: { querystring: ObjectQuery },
    config: { timeoutMs: TIMEOUT_MS },
    handler: async ({ identity: { client }, deadline, query }): Promise<ObjectView> => {
      return readObjectView(client, query, deadline, Date.now());
    },
  });

  server.route({
    method: "GET",
    url: "/api/pods/:namespace/:pod/log",
    exposeHeadRoute: false, // with `follow`, it would be a response without end
    schema: { params: z.object({ namespace: ObjectName, pod: ObjectName }), querystring: LogQuery },
    handler: async ({ headers, params, query }, reply) => {
      const { container, previous, follow, tail = String(LOG_LIMITS.tail) } = query;
      const selection = { ...params, container, previous: previous === "true", follow: follow === "true", tail: Number(tail) };
      const begin = (): void => {
        reply.hijack(); // fastify would wait for the first bytes before it sends the head
        for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value);
      };
      const { identity, release } = await callers.hold(headers);
      try {
        await logs.stream(identity, selection, reply.raw, begin);
      } finally {
        release();
      }
      log.debug({ follow: selection.follow }, "log ended");
    },
  });
}
