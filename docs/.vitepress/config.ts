import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const guides = [
  { text: 'Chat backend', link: '/guides/chat-backend' },
  { text: 'useChat and assistant-ui', link: '/guides/use-chat' },
  { text: 'AG-UI and CopilotKit', link: '/guides/ag-ui' },
  { text: 'Agents as models', link: '/guides/agents-as-models' },
  { text: 'Coding agent', link: '/guides/coding-agent' },
  { text: 'Approvals', link: '/guides/approvals' },
  { text: 'Structured output', link: '/guides/structured-output' },
  { text: 'Sub-agents', link: '/guides/sub-agents' },
  { text: 'Cost and budgets', link: '/guides/cost-and-budgets' },
  { text: 'Voice', link: '/guides/voice' },
  { text: 'MCP', link: '/guides/mcp' },
  { text: 'Editors', link: '/guides/editors' },
  { text: 'A2A', link: '/guides/a2a' },
  { text: 'Testing', link: '/guides/testing' },
  { text: 'Share a thread', link: '/guides/share' },
]

const production = [
  { text: 'Deploying', link: '/production/deploying' },
  { text: 'TLS and proxies', link: '/production/tls-and-proxies' },
  { text: 'Authentication', link: '/production/authentication' },
  { text: 'Limits', link: '/production/limits' },
  { text: 'Backups', link: '/production/backups' },
  { text: 'Upgrades', link: '/production/upgrades' },
  { text: 'Scaling out', link: '/scaling' },
  { text: 'Observability', link: '/production/observability' },
  { text: 'Security model', link: '/production/security' },
]

const reference = [
  { text: 'Agents', link: '/reference/agents' },
  { text: 'Tools', link: '/reference/tools' },
  { text: 'Models', link: '/reference/models' },
  { text: 'Threads', link: '/reference/threads' },
  { text: 'Server and client', link: '/reference/server' },
  { text: 'View', link: '/reference/view' },
  { text: 'React', link: '/reference/react' },
  { text: 'Command line', link: '/reference/cli' },
  { text: 'Page', link: '/reference/page' },
  { text: 'Built-in tools', link: '/reference/built-in-tools' },
  { text: 'Permission rules', link: '/reference/permission' },
  { text: 'Protocol', link: '/reference/protocol' },
  { text: 'Other protocols', link: '/protocols' },
]

/** Written by scripts/docs-reference.ts: `millrace-tools-mcp.md` is about `@millrace/tools/mcp`. */
const api = globSync('*.md', { cwd: fileURLToPath(new URL('../reference/api', import.meta.url)) })
  .map((file) => file.slice(0, -'.md'.length))
  .sort()
  .map((name) => ({
    text: name
      .replace(/^millrace-(otel|postgres|react|simulator|tools|voice)/, '@millrace/$1')
      .replace(/-(?=[\w-]+$)(?!sdk)/, '/'),
    link: `/reference/api/${name}`,
  }))

const migrate = [
  { text: 'From the AI SDK', link: '/migrate/ai-sdk' },
  { text: 'From OpenAI Agents', link: '/migrate/openai-agents' },
]

export default defineConfig({
  title: 'Millrace',
  description: 'Streaming agents with tools, in TypeScript',
  lang: 'en-US',
  // A site below a path of its host, such as a project page, sets this: DOCS_BASE=/millrace/
  base: process.env.DOCS_BASE ?? '/',
  cleanUrls: true,
  cacheDir: '../node_modules/.cache/vitepress',
  head: [['link', { rel: 'icon', href: `${process.env.DOCS_BASE ?? '/'}icon.svg` }]],
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Guides', items: guides },
      { text: 'Production', items: production },
      { text: 'Reference', items: reference },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'Quick start', link: '/quick-start' },
          { text: 'Concepts', link: '/concepts' },
        ],
      },
      { text: 'Guides', items: guides },
      { text: 'Production', items: production },
      { text: 'Reference', items: reference },
      { text: 'API', collapsed: true, items: api },
      { text: 'Migration', items: migrate },
      { text: 'Contributing', items: [{ text: 'Architecture', link: '/architecture' }] },
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/millrace/millrace' }],
    editLink: { pattern: 'https://github.com/millrace/millrace/edit/main/docs/:path' },
  },
})
