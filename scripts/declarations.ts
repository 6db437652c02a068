import { dts } from 'rolldown-plugin-dts'

/** Bundles declarations that tsc has written. It would say each time with which compiler that is. */
export const bundleDeclarations = () =>
  dts({ dtsInput: true, sourcemap: false, logger: { ...console, info() {}, warn() {} } })
