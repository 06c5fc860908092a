/** The page; all of what it shows is fetched by its script. Addresses are relative, so that it works behind a path, too, as kubectl proxy has it. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Catalogs</title>
<link rel="stylesheet" href="ui/style.css">
<script type="module" src="ui/script.js"></script>
</head>
<body>
<header>
<a class="home" href="#/">Catalogs</a>
<form role="search">
<label><span class="unseen">Search</span><input type="search" name="text" placeholder="Search packages" autocomplete="off" maxlength="256"></label>
<label><span class="unseen">Catalog</span><select name="catalog"><option value="">all catalogs</option></select></label>
</form>
</header>
<main aria-live="polite"><noscript>This page needs JavaScript. The same is told by olmv1 search and olmv1 show.</noscript></main>
<footer>Read only. Installing is done with <code>olmv1 install</code> or a ClusterExtension. <a href="openapi.json">API</a></footer>
</body>
</html>
`;
