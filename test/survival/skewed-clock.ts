/** The time of the machine, whatever the clock of this process says. */
export const machineTime: () => number = Date.now

/** How far the clock of this process is ahead, in milliseconds. Timers are not affected. */
const skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0)

if (skewMs !== 0) {
  Date.now = () => machineTime() + skewMs
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [target.now()] : args, made),
  })
}
