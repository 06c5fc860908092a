import { Component, type ReactNode } from "react";

interface Properties {
  readonly children: ReactNode;
  readonly renderError: (error: Error) => ReactNode;
  /** Another path shows the children again. */
  readonly path?: string;
}

interface State {
  readonly error: Error | undefined;
  readonly path: string | undefined;
}

/** Shows an error in place of its children if one of them fails. */
export class ErrorBoundary extends Component<Properties, State> {
  override state: State = { error: undefined, path: this.props.path };

  static getDerivedStateFromError(error: Error): Pick<State, "error"> {
    return { error };
  }

  static getDerivedStateFromProps({ path }: Properties, state: State): State | null {
    return path === state.path ? null : { error: undefined, path };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error ? this.props.renderError(error) : this.props.children;
  }
}
