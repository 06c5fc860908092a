import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod/mini";
import { type LoggedIn, Login, type Session } from "../../consoleapi/session.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { ConsoleError, toConsoleProblem } from "../http/consoleError.ts";
import { SESSION_IDLE_MS } from "../http/loginSessions.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { MAX_STREAMS } from "../live/eventStreams.ts";
import { getCookieName } from "./cookieCallers.ts";

/** Time to wait for the name of the user, in milliseconds. */
const USER_TIMEOUT_MS = 3_000;

/** Registers login, session, and the event stream of all pages. */
export function registerSessionRoutes(server: ConsoleRoutes, { callers, session, streams, log }: ConsoleContext): void {
  server.route({
    method: "POST",
    url: "/api/login",
    schema: { body: Login },
    handler: async (request, reply): Promise<z.infer<typeof LoggedIn>> => {
      const created = callers.logIn?.(request.body.token);
      if (!created) {
        log.warn("login rejected");
        throw new ConsoleError("signedOut", "the login link is invalid, expired or already used", {
          next: "Press Enter in the terminal of olmv1 ui for a new link.",
        });
      }
      const maxAge = Math.floor(SESSION_IDLE_MS / 1_000);
      reply.header(
        "set-cookie",
        `${getCookieName(request.headers.host)}=${created.cookie}; Path=/api; HttpOnly; SameSite=Strict; Max-Age=${maxAge}`,
      );
      reply.header("cache-control", "no-store");
      log.info("a browser logged in");
      return { token: created.token };
    },
  });

  server.route({
    method: "GET",
    url: "/api/session",
    handler: async (request, reply): Promise<Session> => {
      const user = await findUserName(callers.identify(request.headers));
      reply.header("cache-control", "no-store");
      return { ...session, ...(user === undefined ? {} : { user }) };
    },
  });

  server.route({
    method: "GET",
    url: "/api/events",
    exposeHeadRoute: false, // it would be a stream without end
    handler: async (request, reply) => {
      if (streams.size >= MAX_STREAMS) throw new ConsoleError("limited", "too many open pages; close some and try again");
      const { identity, release } = await callers.hold(request.headers);
      const lastId = request.headers["last-event-id"];
      reply.hijack(); // fastify has no streams with back-pressure per message
      for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value);
      streams.open(reply.raw, identity.watches.state, typeof lastId === "string" ? lastId : undefined, release);
    },
  });
}

/** Returns the name of the user; undefined if the API server does not report it soon, so that the pages open anyway. @throws ConsoleError signedOut */
async function findUserName(identity: ClusterIdentity): Promise<string | undefined> {
  try {
    return await Promise.race([identity.userName(), delay(USER_TIMEOUT_MS, undefined, { ref: false })]);
  } catch (err) {
    if (toConsoleProblem(err).problem.kind === "signedOut") throw err;
    return undefined;
  }
}
