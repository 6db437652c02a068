import { defineConfig } from 'vite'

// With `npm run dev:page`, requests are proxied to a running server.
const server = process.env.MILLRACE_URL ?? 'http://127.0.0.1:8787'
// Source files are not proxied: the page's sources have a folder `threads`, too.
const routes = ['threads', 'agents', 'voice', 'healthz', 'openapi.json', 'standalone.html'].map(
  (route) => `^/${route}(?!.*\\.(?:tsx?|css)(?:\\?|$))`,
)

/** A style that cannot be loaded makes the import fail, so that it can be retried. */
const stylesOnDemand = `
const loadStyle = (href) => new Promise((resolve, reject) => {
  if ([...document.styleSheets].some((sheet) => sheet.href === href)) return resolve()
  const link = document.createElement('link')
  const onerror = () => {
    link.remove()
    reject(new Error('cannot load ' + href))
  }
  Object.assign(link, { rel: 'stylesheet', href, onload: resolve, onerror })
  document.head.append(link)
})
export const __vitePreload = (load, files = [], importer) =>
  Promise.all(files.map((file) => loadStyle(new URL(file, importer).href))).then(load)
`

export default defineConfig({
  root: import.meta.dirname,
  // Relative, since the server may be mounted under any path.
  base: './',
  // Removes the Node-only code of the library.
  define: { 'globalThis.process': 'undefined' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      // Waits for the styles of a chunk that is loaded on demand. Vite's own helper does more and is
      // half a kilobyte.
      name: 'styles-on-demand',
      enforce: 'pre',
      load: (id) => (id === '\0vite/preload-helper.js' ? stylesOnDemand : undefined),
    },
  ],
  server: { proxy: Object.fromEntries(routes.map((route) => [route, { target: server, ws: true }])) },
  build: {
    outDir: '../millrace/dist/page/files',
    emptyOutDir: true,
    target: 'es2023',
    // The page names all files of the first load, so that they are fetched at the same time.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, files, { hostType }) => (hostType === 'html' ? files : []),
    },
    assetsInlineLimit: 0,
    // The first load is one script, although parts that are loaded later import from it.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'page', tags: ['$initial'] }] } } },
  },
})
