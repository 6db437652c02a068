import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/** Bundles the declarations written by tsc. Silent, since the plugin logs the compiler each time. */
export const bundleDeclarations = () =>
  dts({ dtsInput: true, sourcemap: false, logger: { ...console, info() {}, warn() {} } })

/** One text with everything that an entry point declares or refers to. */
export async function declarationsOf(folder: string, file: string, comments: boolean): Promise<string> {
  const bundle = await rolldown({
    cwd: folder,
    input: file,
    external: (id) => /^(#|[^./])/.test(id),
    plugins: [bundleDeclarations()],
  })
  const { output } = await bundle.generate({ codeSplitting: false, comments })
  await bundle.close()
  return output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('')
}
