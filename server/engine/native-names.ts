// Names that the native side defines and that flags are checked against; passed on because only engine/ may see native/.
export { ACTIVATIONS, ISAS, KV_FORMATS } from '../../native/index.ts';
