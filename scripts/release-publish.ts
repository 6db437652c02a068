import { parseArgs } from 'node:util'
import { publish } from './release/publish.ts'

// npm run release:publish: called by the release workflow. Provenance works only there; publish with
// --no-provenance anywhere else.
try {
  const { values } = parseArgs({
    options: { provenance: { type: 'boolean', default: true } },
    allowNegative: true,
  })
  await publish(process.cwd(), { provenance: values.provenance })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
