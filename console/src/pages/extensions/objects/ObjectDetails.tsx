import { DescriptionList, DescriptionListDescription, DescriptionListGroup, DescriptionListTerm, Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link, useSearchParams } from "react-router";
import type { ContainerRow, ObjectView } from "../../../../../pkg/consoleapi/objects.ts";
import { EventList } from "../../../components/EventList.tsx";
import { RelativeTime } from "../../../components/RelativeTime.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { objectsText as t } from "../../../text/objects.ts";
import { formatReference } from "./objectLink.ts";

/** Health, containers and Events of an object. */
export function ObjectDetails({ object }: { readonly object: ObjectView }): ReactElement {
  const { reference, message, created, owners, containers, events } = object;
  const [params] = useSearchParams();
  const buildOwnerSearch = (owner: ObjectView["reference"]): string => {
    const next = new URLSearchParams(params);
    next.set("object", formatReference(owner));
    return next.toString();
  };
  return (
    <div className="olm-panel-sections">
      {message !== "" && (
        <p className="olm-break" dir="auto">
          {message}
        </p>
      )}
      <DescriptionList isCompact columnModifier={{ default: "2Col" }}>
        {reference.namespace !== undefined && (
          <DescriptionListGroup>
            <DescriptionListTerm>{t.namespace}</DescriptionListTerm>
            <DescriptionListDescription className="olm-break">{reference.namespace}</DescriptionListDescription>
          </DescriptionListGroup>
        )}
        {created !== undefined && (
          <DescriptionListGroup>
            <DescriptionListTerm>{t.created}</DescriptionListTerm>
            <DescriptionListDescription>
              <RelativeTime time={created} />
            </DescriptionListDescription>
          </DescriptionListGroup>
        )}
        {owners.length > 0 && (
          <DescriptionListGroup>
            <DescriptionListTerm>{t.owners}</DescriptionListTerm>
            <DescriptionListDescription className="olm-break">
              {owners.map((owner) => (
                <div key={formatReference(owner)}>
                  <Link to={{ search: buildOwnerSearch(owner) }}>{`${owner.kind} ${owner.name}`}</Link>
                </div>
              ))}
            </DescriptionListDescription>
          </DescriptionListGroup>
        )}
      </DescriptionList>
      {containers && (
        <section aria-labelledby="object-containers">
          <Title headingLevel="h3" size="md" id="object-containers">
            {t.containers}
          </Title>
          <ul className="olm-list">
            {containers.map((container) => (
              <Container key={container.name} container={container} />
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="object-events">
        <Title headingLevel="h3" size="md" id="object-events">
          {t.events}
        </Title>
        <EventList events={events} />
      </section>
    </div>
  );
}

function Container({ container }: { readonly container: ContainerRow }): ReactElement {
  const { name, kind, image, state, message, restarts, hasPrevious } = container;
  const [params] = useSearchParams();
  const buildLogSearch = (isPrevious: boolean): string => {
    const next = new URLSearchParams(params);
    next.set("view", "log");
    next.set("container", name);
    if (isPrevious) next.set("previous", "1");
    else next.delete("previous");
    return next.toString();
  };
  return (
    <li className="olm-container">
      <p className="olm-container-head">
        <strong className="olm-break">{name}</strong>
        {kind !== "container" && <span className="olm-subtle">{t.container[kind]}</span>}
        <StateLabel state={state} isCompact />
        {restarts > 0 && <span className="olm-subtle">{t.restarts(restarts)}</span>}
      </p>
      {message !== "" && (
        <p className="olm-break" dir="auto">
          {message}
        </p>
      )}
      <p className="olm-break olm-subtle">{image}</p>
      <p className="olm-container-head">
        <Link to={{ search: buildLogSearch(false) }}>{t.showLog}</Link>
        {hasPrevious && <Link to={{ search: buildLogSearch(true) }}>{t.showPrevious}</Link>}
      </p>
    </li>
  );
}
