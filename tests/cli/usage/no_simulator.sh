XSEG_SIM_LIBRARY=/nonexistent/libcuda.so.1 xseg replay --driver sim "$DATA/small.trace"
