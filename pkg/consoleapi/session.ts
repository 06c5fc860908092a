import * as z from "zod/mini";

/** Header that each API request of the front end sends. A page of another origin cannot send it. */
export const TOKEN_HEADER = "x-olmv1-console";

/** The body of POST /api/login. */
export const Login = z.object({ token: z.string().check(z.maxLength(200)) });

/** The response of POST /api/login. The page sends `token` in the header `TOKEN_HEADER` of each further request. */
export const LoggedIn = z.object({ token: z.string() });

/** The identity of the user, and the settings of the console. */
export const Session = z.object({
  /** `laptop`: `olmv1 ui` with a kubeconfig. `cluster`: a Deployment that acts with the token of each caller. */
  mode: z.enum(["laptop", "cluster"]),
  /** Name of the user according to the API server; absent if it is unknown. */
  user: z.optional(z.string()),
  /** Context of the kubeconfig. */
  context: z.optional(z.string()),
  /** Namespace of the extensions that the list shows first; absent for all. */
  namespace: z.optional(z.string()),
  /** Address of the API server. */
  server: z.string(),
  /** Whether the console rejects all writes. */
  readOnly: z.boolean(),
  /** Namespace of the installation. */
  systemNamespace: z.string(),
  /** Version of the console. */
  version: z.string(),
});
export type Session = z.infer<typeof Session>;
