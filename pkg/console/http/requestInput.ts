import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, FastifySchemaCompiler, FastifyTypeProvider } from "fastify";
import * as z from "zod/mini";
import { ConsoleError } from "./consoleError.ts";

/** Types of `request.params`, `request.query` and `request.body`, derived from the schemas of the route. */
export interface ConsoleTypeProvider extends FastifyTypeProvider {
  validator: this["schema"] extends z.ZodMiniType ? z.output<this["schema"]> : unknown;
}

/** A server whose routes have zod schemas. */
export type ConsoleRoutes = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ConsoleTypeProvider>;

/** Validates the input of a route with its zod schema. Input that does not match gets the problem `invalid`. */
export const compileConsoleValidator: FastifySchemaCompiler<z.ZodMiniType> =
  ({ schema, httpPart }) =>
  (input: unknown) => {
    const parsed = z.safeParse(schema, input);
    if (parsed.success) return { value: parsed.data };
    return { error: new ConsoleError("invalid", `invalid ${httpPart ?? "request"}: ${z.prettifyError(parsed.error)}`) };
  };

/** A name of a Kubernetes object. */
export const ObjectName = z.string().check(z.minLength(1), z.maxLength(253), z.regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/));
