import { Button, Spinner, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { type LimitAttempt, type VersionRule, type Why, WhyNotVersion, type WhyVersion } from "../../../../../pkg/consoleapi/why.ts";
import { getJson } from "../../../api/request.ts";
import { ErrorState } from "../../../components/ErrorState.tsx";
import { FactList } from "../../../components/FactList.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { whyText } from "../../../text/why.ts";
import { RefusalList } from "./Refusals.tsx";
import { VersionIcon } from "./VersionIcon.tsx";

const t = whyText.details;

/** Everything about one version: why it is chosen, or each rule that excludes it with its remedy. */
export function VersionDetails({
  extension,
  why,
  tried,
  version,
  onTry,
}: {
  readonly extension: string;
  readonly why: Why;
  /** The limits to try, as a query. */
  readonly tried: string;
  readonly version: WhyVersion;
  readonly onTry: (attempt: LimitAttempt) => void;
}): ReactElement {
  const { bundle, state, label, reason, attempt, deprecated } = version;
  return (
    <section className="olm-why-details" aria-label={version.version ?? bundle}>
      <div className="olm-why-heading">
        <VersionIcon state={state} className={`olm-graph-${state}`} />
        <Title headingLevel="h4" className="olm-break">
          <bdi>{version.version ?? bundle}</bdi>
        </Title>
        <StateLabel state={label} />
      </div>
      {reason !== "" && (
        <p className="olm-break" dir="auto">
          {reason}
        </p>
      )}
      {deprecated !== undefined && (
        <p className="olm-break" dir="auto">
          <strong>{t.deprecated}:</strong> <bdi>{deprecated}</bdi>
        </p>
      )}
      {state !== "chosen" && <Rules extension={extension} tried={tried} version={version} />}
      {attempt && (
        <Button variant="secondary" size="sm" className="olm-why-try" onClick={() => onTry(attempt)}>
          {t.attempt}
        </Button>
      )}
      <Facts version={version} why={why} />
    </section>
  );
}

/** The rules that are known at once, then all of them with those of dependencies. */
function Rules({
  extension,
  tried,
  version,
}: {
  readonly extension: string;
  readonly tried: string;
  readonly version: WhyVersion;
}): ReactElement {
  const { bundle, catalog } = version;
  const query = useQuery({
    queryKey: ["extension", extension, "why-not", catalog, bundle, tried],
    queryFn: ({ signal }) => {
      const search = new URLSearchParams(tried);
      search.set("bundle", bundle);
      search.set("catalog", catalog);
      return getJson(`/api/extensions/${extension}/why-not?${search}`, WhyNotVersion, signal);
    },
    staleTime: 60_000,
  });
  const known = query.data;
  const rules = known && known.verdict === "notChosen" ? known.rules : version.rules;
  return (
    <>
      {rules.length > 0 && (
        <>
          <Title headingLevel="h5">{rules.every(({ isPreference }) => isPreference) ? t.preferences : t.rules}</Title>
          <ol className="olm-why-rules">
            {rules.map((rule) => (
              <Rule key={`${rule.rule} ${rule.text}`} rule={rule} />
            ))}
          </ol>
        </>
      )}
      {query.isPending && (
        <p className="olm-subtle">
          <Spinner isInline aria-hidden="true" /> {t.checking}
        </p>
      )}
      {query.isError && known === undefined && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {known && known.refusals.length > 0 && (
        <>
          <Title headingLevel="h5">{t.dependencies}</Title>
          <RefusalList refusals={known.refusals} hasBundle={false} />
        </>
      )}
      {known?.unchecked.map((text) => (
        <p key={text} className="olm-subtle olm-break" dir="auto">
          {text}
        </p>
      ))}
    </>
  );
}

function Rule({ rule: { title, text, remedy } }: { readonly rule: VersionRule }): ReactElement {
  return (
    <li className="olm-break">
      <strong>{title}</strong>
      <p dir="auto">{text}</p>
      {remedy !== "" && (
        <p dir="auto">
          <span className="olm-subtle">{t.remedy}:</span> {remedy}
        </p>
      )}
    </li>
  );
}

function Facts({ version, why: { installed } }: { readonly version: WhyVersion; readonly why: Why }): ReactElement {
  const { bundle, catalog, channels, headOf, created, path, isInstalled } = version;
  const steps = path && installed && !isInstalled ? [installed.version, ...path, version.version ?? bundle] : [];
  return (
    <FactList
      layout="columns"
      facts={[
        [t.path, steps.length > 0 && <Steps steps={steps} />],
        [t.bundle, bundle],
        [t.catalog, catalog],
        [t.channels, channels.join(", ")],
        [t.headOf, headOf.join(", ")],
        [t.created, created !== undefined && <Created time={created} />],
      ]}
    />
  );
}

function Steps({ steps }: { readonly steps: readonly string[] }): ReactElement {
  return (
    <ol className="olm-why-steps">
      {steps.map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
  );
}

/** The date of a version as the author states it, which may be no date. */
function Created({ time }: { readonly time: string }): ReactElement {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return <>{time}</>;
  return (
    <time dateTime={time} title={new Date(ms).toLocaleString()}>
      {new Date(ms).toLocaleDateString()}
    </time>
  );
}
