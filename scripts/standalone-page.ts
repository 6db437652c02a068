import { createHash } from 'node:crypto'
import { exportMark } from '../packages/millrace/src/protocol/index.ts'

export interface StandaloneParts {
  readonly script: string
  readonly style: string
  readonly licenses: string
}

/**
 * The page for an exported thread, with slots such as `{{export}}` that `fillThreadHtml` fills. Its
 * policy allows only its own script and style, so it cannot send anything anywhere, and text of the
 * thread can never become a script.
 */
export function standalonePage({ script, style, licenses }: StandaloneParts): string {
  // Each would end the element that contains it, or be filled.
  if (/<\/(?:script|style)|<!--|\{\{\w+\}\}/i.test(script + style))
    throw new Error('the script or style of the page for exports contains markup')
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy.join('; ')}">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Millrace">
<meta name="date" content="{{date}}">
<link rel="icon" href="data:,">
<title>{{title}}</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript.</noscript>
<footer class="standalone-foot">
Exported from Millrace on <time datetime="{{date}}">{{day}}</time>; import it with <code>millrace import</code>
</footer>
${exportMark}{{export}}</script>
<script type="module">${script}</script>
</body>
</html>
<!--
The script contains:

${licenses.replaceAll('--', '- -')}
-->
`
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
