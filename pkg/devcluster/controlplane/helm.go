package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/component-base/version"
)

// helm is those of Helm's commands that a chart in a folder is tried with, on Helm's own packages and with its names of options:
// its command itself is a main package and cannot be linked. Plugins, repositories and registries are left out.
type helm struct {
	flags           *genericclioptions.ConfigFlags
	given           values.Options
	apiVersions     []string
	strict          bool
	createNamespace bool
	wait            bool
	timeout         time.Duration
}

func newHelmCommand() *cobra.Command {
	h := &helm{flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{Use: "helm", Short: "Render, check, install, upgrade and uninstall a chart in a folder", SilenceUsage: true}
	h.flags.AddFlags(root.PersistentFlags())

	template := h.command("template NAME CHART", "Print what would be installed", 2, h.template)
	template.Flags().StringSliceVarP(&h.apiVersions, "api-versions", "a", nil, "APIs that the cluster is said to have")
	lint := h.command("lint CHART", "Check a chart", 1, h.lint)
	lint.Flags().BoolVar(&h.strict, "strict", false, "fail on warnings")
	install := h.command("install NAME CHART", "Install a chart", 2, h.install)
	install.Flags().BoolVar(&h.createNamespace, "create-namespace", false, "make the namespace if there is none")
	upgrade := h.command("upgrade NAME CHART", "Upgrade a release", 2, h.upgrade)
	uninstall := h.command("uninstall NAME", "Uninstall a release", 1, h.uninstall)
	for _, command := range []*cobra.Command{template, lint, install, upgrade} {
		command.Flags().StringArrayVarP(&h.given.ValueFiles, "values", "f", nil, "file with values")
		command.Flags().StringArrayVar(&h.given.Values, "set", nil, "value, such as a.b=c")
		command.Flags().StringArrayVar(&h.given.JSONValues, "set-json", nil, "value, such as a.b={}")
	}
	for _, command := range []*cobra.Command{install, upgrade, uninstall} {
		command.Flags().BoolVar(&h.wait, "wait", false, "until everything is ready, or gone")
		command.Flags().DurationVar(&h.timeout, "timeout", 5*time.Minute, "for how long to wait")
	}
	root.AddCommand(template, lint, install, upgrade, uninstall)
	return root
}

func (h *helm) command(use, short string, args int, run func([]string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(args), RunE: func(_ *cobra.Command, args []string) error { return run(args) }}
}

func (h *helm) template(args []string) error {
	install := action.NewInstall(new(action.Configuration))
	install.ReleaseName, install.Namespace = args[0], h.namespace()
	install.DryRun, install.ClientOnly, install.Replace, install.IncludeCRDs = true, true, true, true
	install.APIVersions, install.KubeVersion = h.apiVersions, kubeVersion()
	chart, with, err := h.load(args[1])
	if err != nil {
		return err
	}
	done, err := install.Run(chart, with)
	if err != nil {
		return err
	}
	fmt.Print(done.Manifest)
	return nil
}

func (h *helm) lint(args []string) error {
	lint := action.NewLint()
	lint.Strict, lint.Namespace, lint.KubeVersion = h.strict, h.namespace(), kubeVersion()
	with, err := h.given.MergeValues(getter.Providers{})
	if err != nil {
		return err
	}
	result := lint.Run(args, with)
	for _, message := range result.Messages {
		fmt.Println(message)
	}
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d of the chart's checks failed", len(result.Errors))
	}
	return nil
}

func (h *helm) install(args []string) error {
	configuration, err := h.onCluster()
	if err != nil {
		return err
	}
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.CreateNamespace = args[0], h.namespace(), h.createNamespace
	install.Wait, install.Timeout = h.wait, h.timeout
	chart, with, err := h.load(args[1])
	if err != nil {
		return err
	}
	return printed(install.Run(chart, with))
}

func (h *helm) upgrade(args []string) error {
	configuration, err := h.onCluster()
	if err != nil {
		return err
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.Wait, upgrade.Timeout = h.namespace(), h.wait, h.timeout
	chart, with, err := h.load(args[1])
	if err != nil {
		return err
	}
	return printed(upgrade.Run(args[0], chart, with))
}

func (h *helm) uninstall(args []string) error {
	configuration, err := h.onCluster()
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.Wait, uninstall.Timeout = h.wait, h.timeout
	done, err := uninstall.Run(args[0])
	if err != nil {
		return err
	}
	fmt.Println(done.Info)
	return nil
}

func (h *helm) namespace() string {
	if *h.flags.Namespace == "" {
		return "default"
	}
	return *h.flags.Namespace
}

func (h *helm) onCluster() (*action.Configuration, error) {
	configuration := new(action.Configuration)
	return configuration, configuration.Init(h.flags, h.namespace(), "secret", func(string, ...interface{}) {})
}

func (h *helm) load(path string) (*chart.Chart, map[string]interface{}, error) {
	loaded, err := loader.Load(path)
	if err != nil {
		return nil, nil, err
	}
	with, err := h.given.MergeValues(getter.Providers{})
	return loaded, with, err
}

// kubeVersion is the version of the API server beside which this is built, for what is rendered without one.
func kubeVersion() *chartutil.KubeVersion {
	parsed, err := chartutil.ParseKubeVersion(version.Get().GitVersion)
	if err != nil {
		return nil
	}
	return parsed
}

func printed(done *release.Release, err error) error {
	if err != nil {
		return err
	}
	fmt.Printf("NAME: %s\nNAMESPACE: %s\nSTATUS: %s\nREVISION: %d\nNOTES:\n%s\n", done.Name, done.Namespace, done.Info.Status, done.Version, done.Info.Notes)
	return nil
}
