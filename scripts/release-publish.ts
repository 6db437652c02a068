import { parseArgs } from 'node:util'
import { publish } from './release/publish.ts'

// npm run release:publish: what the release workflow calls. Only there can npm tell where a package comes from; elsewhere it
// publishes with --no-provenance alone.
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
