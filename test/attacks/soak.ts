// node test/attacks/soak.ts [seconds] [seed]
import { setup } from '../system-packages.ts'
import { fuzz } from './fuzz.ts'
import { canTry, openJail } from './jail.ts'
import { openWorld } from './world.ts'

const [seconds = '60', given] = process.argv.slice(2)
const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given)

await setup()
if (!canTry()) {
  process.stdout.write('soak: left out, since it needs bubblewrap, bash, dash and busybox\n')
  process.exit(process.env.CI ? 1 : 0)
}
const world = openWorld()
try {
  process.stdout.write(`soak: ${seconds} s of lines from seed ${seed}\n`)
  const { lines, tried, breach } = await fuzz(world, openJail(world), {
    seed,
    milliseconds: Number(seconds) * 1000,
  })
  process.stdout.write(`soak: ${lines} lines were judged for three shells, and ${tried} of them run\n`)
  if (breach) {
    const { policy, shell, line } = breach
    process.stdout.write(
      `soak: with ${policy}, ${shell} was let run ${JSON.stringify(line)}; the seed is ${seed}\n`,
    )
    process.exitCode = 1
  }
} finally {
  world.close()
}
