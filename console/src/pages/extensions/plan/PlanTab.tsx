import "./plan.css";
import { Button, Title } from "@patternfly/react-core";
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { ExtensionPlan } from "../../../../../pkg/consoleapi/plan.ts";
import { getJson } from "../../../api/request.ts";
import { Alert } from "../../../components/Alert.tsx";
import { Elapsed } from "../../../components/Elapsed.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { planText as t } from "../../../text/plan.ts";
import { useExtensionName } from "../extensionName.ts";
import { LimitsForm } from "../LimitsForm.tsx";
import { useComputationBasis, useLimits } from "../limits.ts";
import { PlanDetails } from "./PlanDetails.tsx";
import { PlanSummary } from "./PlanSummary.tsx";

const FORM_ID = "olm-plan-limits";

/** What the next change of an extension would do, or what a chosen version would do. */
export default function PlanTab(): ReactElement {
  const name = useExtensionName();
  const [limits, setLimits] = useLimits();
  const [isTrying, setTrying] = useState(limits.size > 0);
  const { query, cancel, isReady } = usePlan(name, limits.toString());
  const isCancelled = isReady && query.isPending && query.fetchStatus === "idle";
  return (
    <div>
      <div className="olm-section-head">
        <Title headingLevel="h2">{t.title}</Title>
        <Button variant="link" aria-expanded={isTrying} aria-controls={FORM_ID} onClick={() => setTrying(!isTrying)}>
          {t.tryOther}
        </Button>
        {query.data && (
          <Button variant="link" isLoading={query.isFetching} isDisabled={query.isFetching} onClick={() => void query.refetch()}>
            {t.again}
          </Button>
        )}
      </div>
      <p className="olm-subtle olm-prose">{t.intro}</p>
      <div id={FORM_ID}>{isTrying && <LimitsForm key={limits.toString()} limits={limits} onChange={setLimits} />}</div>
      {limits.size > 0 && <Alert isPlain status="info" component="p" title={t.isTried} />}
      {query.isPending && !isCancelled && (
        <Elapsed title={t.computing} note={t.computingNote} formatSeconds={t.elapsed} cancelLabel={t.cancel} onCancel={cancel} />
      )}
      {isCancelled && (
        <p>
          {t.cancelled}{" "}
          <Button variant="link" isInline onClick={() => void query.refetch()}>
            {t.compute}
          </Button>
        </p>
      )}
      {!query.isPending && (
        <QueryView query={query}>
          {(plan) => (
            <>
              {plan.notice !== undefined && <Alert status="warning" component="p" title={plan.notice} className="olm-break" />}
              <PlanSummary plan={plan} />
              <PlanDetails plan={plan} />
            </>
          )}
        </QueryView>
      )}
    </div>
  );
}

/** Computes the plan once for each state of the spec. Other changes of the cluster need a new computation by the user. */
function usePlan(
  name: string,
  limits: string,
): {
  readonly query: UseQueryResult<ExtensionPlan>;
  readonly cancel: () => void;
  /** Whether the state of the extension is known, so that the computation can start. */
  readonly isReady: boolean;
} {
  const queries = useQueryClient();
  const basis = useComputationBasis(name);
  const queryKey = ["plan", name, basis, limits];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => getJson(`/api/extensions/${encodeURIComponent(name)}/plan?${limits}`, ExtensionPlan, signal),
    enabled: basis !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return { query, isReady: basis !== undefined, cancel: () => void queries.cancelQueries({ queryKey }) };
}
