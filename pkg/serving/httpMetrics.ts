import type { Metrics } from "../telemetry/metrics.ts";

/** Upper bounds in seconds that existing dashboards use. */
const REQUEST_SECONDS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.6, 2, 2.4, 2.8, 3.2, 3.6, 4, 10];
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A request that received a response. */
export interface HandledRequest {
  /** Path of the route with parameters in braces; undefined for an unknown path. */
  readonly route: string | undefined;
  readonly method: string;
  readonly status: number;
  /** Content coding of the response; undefined for none. */
  readonly encoding: string | undefined;
  /** Size of the body as sent. */
  readonly bytes: number;
  readonly seconds: number;
}

/** Metrics of an HTTP server. No label value comes from a client. */
export class HttpMetrics {
  readonly #requests;
  readonly #seconds;
  readonly #underWay;
  readonly #bytes;

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter({
      name: "http_requests_total",
      help: "Number of requests with a response, by endpoint path (`other` for unknown paths), method, status code and content coding",
      labels: ["route", "method", "code", "encoding"],
    });
    this.#seconds = metrics.histogram({
      name: "http_request_duration_seconds",
      help: "Histogram of request duration in seconds",
      labels: ["code"],
      buckets: REQUEST_SECONDS,
    });
    this.#underWay = metrics.gauge({ name: "http_requests_in_flight", help: "Number of requests in progress", initial: [{}] });
    this.#bytes = metrics.counter({
      name: "http_response_bytes_total",
      help: "Number of sent response body bytes",
      labels: ["route", "encoding"],
    });
  }

  started(): void {
    this.#underWay.add(1);
  }

  ended({ route = "other", method, status, encoding = "identity", bytes, seconds }: HandledRequest): void {
    const code = String(status);
    this.#underWay.add(-1);
    this.#requests.inc({ route, method: METHODS.has(method) ? method : "other", code, encoding });
    this.#seconds.observe(seconds, { code });
    if (bytes > 0) this.#bytes.inc({ route, encoding }, bytes);
  }
}
